import type { Cost } from "./command.ts";

export const HEAD = `  ${"".padEnd(36)}  seconds  x peer  x CPU  tool us  server us  peak MiB    load`;

function number(value: number | null, digits: number, width: number): string {
  return (value === null ? "" : value.toFixed(digits)).padStart(width);
}

/** Seconds of all processors that worked on it; null where nobody counted. */
export function used({ cpu, servers }: Cost): number | null {
  return cpu === null ? null : cpu + (servers ?? 0);
}

/** A stage in a line under `HEAD`. @param peer what its ratios are to; null: not known yet */
export function lineOf(
  { stage, ...cost }: Cost & { readonly stage: string },
  machines: number,
  peer: Cost | null,
): string {
  const a = (seconds: number | null) => (seconds === null ? null : (seconds * 1e6) / machines);
  const times = (value: number | null, of: number | null): number | null =>
    value === null || of === null || of === 0 ? null : value / of;
  const { seconds, cpu, servers, rss, load } = cost;
  const byClock = times(seconds, peer?.seconds ?? null);
  const byCpu = peer === null ? null : times(used(cost), used(peer));
  return [
    `  ${stage.padEnd(36)}${number(seconds, 2, 9)}${number(byClock, 2, 8)}${number(byCpu, 2, 7)}`,
    `${number(a(cpu), 0, 9)}${number(a(servers), 0, 11)}${number(rss, 0, 10)}${number(load, 1, 8)}`,
  ].join("");
}
