/** The same items in their order, `size` at a time; the last group may be smaller. */
export async function* regroup<T>(
  groups: AsyncIterable<readonly T[]>,
  size: number,
): AsyncGenerator<readonly T[]> {
  let held: T[] = [];
  for await (const group of groups) {
    for (const item of group) {
      held.push(item);
      if (held.length < size) continue;
      yield held;
      held = [];
    }
  }
  if (held.length > 0) yield held;
}
