import type { Round } from "./round.ts";

/** What the tool promises at 100,000 machines: ratios to dump-and-restore, and MiB. */
const LIMITS = { load: 1.2, road: 2, rss: 200 } as const;

const TITLES: { readonly [engine: string]: string } = {
  mysql: "MariaDB",
  postgresql: "PostgreSQL",
};

function number(value: number | null, digits: number, width: number): string {
  return (value === null ? "" : value.toFixed(digits)).padStart(width);
}

/** A table: what each stage took, by how much that is more than the peer, and its memory. */
export function report({ engine, machines, rows, peer, load, road, rss }: Round): string {
  const line = (stage: string, seconds: number, cpu: number | null, memory: number | null) =>
    `  ${stage.padEnd(40)}${number(seconds, 2, 9)}${number(seconds / peer, 2, 8)}${number(cpu, 2, 9)}${number(memory, 0, 10)}`;
  return [
    `\n${TITLES[engine] ?? engine}, ${machines} machines with two interfaces each`,
    `  ${"stage".padEnd(40)}  seconds   ratio    cpu s  peak MiB`,
    ...rows.map(({ stage, seconds, cpu, rss: memory }) => line(stage, seconds, cpu, memory)),
    line("load (apply without its verify)", load, null, null),
    line("whole road (extract, plan, apply)", road, null, rss),
  ].join("\n");
}

/** Whether the promises hold for the largest fleet of an engine. */
export function verdicts(rounds: readonly Round[]): string {
  const largest = rounds.at(-1);
  if (largest === undefined) return "";
  const { engine, machines, peer, load, road, rss } = largest;
  const judge = (what: string, value: number, limit: number, unit: string): string =>
    `  ${value <= limit ? "held  " : "MISSED"} ${what} ${value.toFixed(2)}${unit}, limit ${limit}${unit}`;
  const smaller = rounds.find((other) => other.machines * 10 === machines);
  return [
    `\n${TITLES[engine] ?? engine}, ${machines} machines`,
    judge("load, against dump and restore of the same tables:", load / peer, LIMITS.load, "x"),
    judge("whole road, against the same:", road / peer, LIMITS.road, "x"),
    judge("peak memory:", rss, LIMITS.rss, " MiB"),
    ...(smaller === undefined
      ? []
      : [`  peak memory grew by ${(rss - smaller.rss).toFixed(0)} MiB from a tenth of the fleet`]),
  ].join("\n");
}
