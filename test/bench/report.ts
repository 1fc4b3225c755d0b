import type { Cost } from "./command.ts";
import type { Round } from "./round.ts";
import { HEAD, lineOf, used } from "./table.ts";

const TITLES: { readonly [engine: string]: string } = {
  mysql: "MariaDB",
  postgresql: "PostgreSQL",
  sqlite: "SQLite",
};

/** The largest a load may be of what the engine's own dump-and-restore takes; SQLite promises nothing. */
const LOAD: { readonly [engine: string]: number } = { mysql: 1.2, postgresql: 1.5 };
/** The whole road of MariaDB, of the same. */
const ROAD = 3.5;
/** A rollback, of the load. */
const BACK = 1.5;
const RSS = 400;

/**
 * Processor of the tool, in that of its peer, as it was at 100,000 machines when the goal of half of it
 * was set (12ef1b1): microseconds are this machine's, and what else runs on it changes them. It was taken from a profile,
 * which makes it half as large again: see RESULTS.md. PostgreSQL's peer takes twice what it took then, so it says nothing.
 */
const CPU_BEFORE: { readonly [engine: string]: { readonly [stage: string]: number } } = {
  mysql: { extract: 1.52, plan: 1.9, load: 1.3, verify: 1.67 },
};

/** Machines of which times are judged, and of which the processor is: a start is a part of it. */
const SMALL = 10_000;
const LARGE = 100_000;

const FORTH = ["extract", "plan", "load", "verify"];

/**
 * A table: what each stage took and used, by how much that is more than the peer, what it used a machine, and its
 * memory.
 */
export function report({ engine, machines, instances, rows, peer }: Round): string {
  const line = (stage: string, cost: Cost): string => lineOf({ stage, ...cost }, machines, peer);
  const road = sumOf(rows.filter((row) => FORTH.includes(row.stage)));
  const nova = instances === null ? "without Nova" : `${instances} instances in Nova`;
  return [
    `\n${TITLES[engine]}, ${machines} machines with two interfaces each, ${nova}`,
    HEAD,
    ...rows.map((row) => line(row.stage, row)),
    line("road: extract, plan, load, verify", road),
    line(peer.what, peer),
    "",
  ].join("\n");
}

/** Null where it was not asked of a stage: a sum of the others would look like less. */
function sumOf(rows: readonly Cost[]): Cost {
  const sum = (values: readonly (number | null)[]): number | null =>
    values.reduce((total, value) => (total === null || value === null ? null : total + value), 0);
  return {
    seconds: rows.reduce((total, row) => total + row.seconds, 0),
    cpu: sum(rows.map(({ cpu }) => cpu)),
    servers: sum(rows.map(({ servers }) => servers)),
    rss: Math.max(...rows.map(({ rss }) => rss ?? 0)),
    load: Math.max(...rows.map(({ load }) => load)),
  };
}

export function verdicts(round: Round): string {
  const { engine, machines, rows, peer } = round;
  const seconds = (stage: string): number => rows.find((row) => row.stage === stage)?.seconds ?? 0;
  const judge = (what: string, value: number, limit: number, unit = "x"): string =>
    `  ${value <= limit ? "held  " : "MISSED"} ${what} ${value.toFixed(2)}${unit}, limit ${limit}${unit}`;
  const most = LOAD[engine];
  const load = seconds("load") / peer.seconds;
  const road = FORTH.reduce((sum, one) => sum + seconds(one), 0) / peer.seconds;
  const ratios = [
    ...(most === undefined ? [] : [judge("load, of its peer:", load, most)]),
    ...(engine === "mysql" ? [judge("road, of its peer:", road, ROAD)] : []),
    judge("rollback, of the load:", seconds("rollback") / seconds("load"), BACK),
  ];
  const cpu = rows.flatMap((row) => {
    const before = CPU_BEFORE[engine]?.[row.stage];
    const of = used(peer);
    if (before === undefined || !of || row.cpu === null) return [];
    return [judge(`${row.stage}, processor, of its peer's:`, row.cpu / of, before / 2)];
  });
  const memory = rows.map(({ stage, rss }) =>
    judge(`${stage}, peak:`, rss ?? Number.POSITIVE_INFINITY, RSS, " MiB"),
  );
  const missed = memory.filter((line) => line.includes("MISSED"));
  const held = `  held   peak memory of ${memory.length - missed.length} of ${memory.length} looks`;
  // Of a small fleet a start is most of it.
  const times = [...(machines < SMALL ? [] : ratios), ...(machines < LARGE ? [] : cpu)];
  return [...times, held, ...missed, ""].join("\n");
}
