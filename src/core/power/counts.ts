/** What is known while machines are asked: `12 ok, 1 unreachable`. @param again failed, asked once more */
export function live(verdicts: Iterable<readonly [string, number]>, again = 0): string {
  const words = byCount(verdicts).map(([verdict, count]) => `${count} ${verdict}`);
  if (again > 0) words.push(`${again} failed so far`);
  return words.join(", ") || "nothing to ask";
}

/** The most frequent first. */
export function byCount(
  verdicts: Iterable<readonly [string, number]>,
): readonly (readonly [string, number])[] {
  return [...verdicts].toSorted(([, left], [, right]) => right - left);
}
