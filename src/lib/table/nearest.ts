/** At most three names that differ in one or two characters, the nearest first. */
export function nearest(input: string, names: readonly string[]): readonly string[] {
  return names
    .map((name) => ({ name, distance: distance(input, name) }))
    .filter(({ distance }) => distance <= 2)
    .sort((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** A question to put before a fix. Empty without names. */
export const didYouMean = (near: readonly string[]): string =>
  near.length === 0 ? "" : `Did you mean ${near.join(" or ")}? `;

function distance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (const [row, one] of [...left].entries()) {
    const line = [row + 1];
    for (const [at, other] of [...right].entries()) {
      const changed = (above[at] ?? 0) + (one === other ? 0 : 1);
      line.push(Math.min(changed, (above[at + 1] ?? 0) + 1, (line[at] ?? 0) + 1));
    }
    above = line;
  }
  return above.at(-1) ?? 0;
}
