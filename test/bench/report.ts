import type { Cost } from "./command.ts";
import type { Round } from "./round.ts";

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
/** MiB of every command, and how many times those of a tenth of the fleet. */
const RSS = { most: 200, growth: 1.15 } as const;

/** Machines of which times are judged. */
const SMALL = 10_000;

const FORTH = ["extract", "plan", "load", "verify"];

function number(value: number | null, digits: number, width: number): string {
  return (value === null ? "" : value.toFixed(digits)).padStart(width);
}

/** Seconds of all processors that worked on it; null where nobody counted. */
function used({ cpu, servers }: Cost): number | null {
  return cpu === null ? null : cpu + (servers ?? 0);
}

/**
 * A table: what each stage took and used, by how much that is more than the peer, what it used a machine, and its
 * memory.
 */
export function report({ engine, machines, instances, rows, peers }: Round): string {
  const [peer] = peers;
  const a = (seconds: number | null): number | null =>
    seconds === null ? null : (seconds * 1e6) / machines;
  const times = (value: number | null, of: number | null): number | null =>
    value === null || of === null || of === 0 ? null : value / of;
  const line = (what: string, cost: Cost): string => {
    const { seconds, cpu, servers, rss, load } = cost;
    const [byClock, byCpu] = peer
      ? [times(seconds, peer.seconds), times(used(cost), used(peer))]
      : [null, null];
    return [
      `  ${what.padEnd(36)}${number(seconds, 2, 9)}${number(byClock, 2, 8)}${number(byCpu, 2, 7)}`,
      `${number(a(cpu), 0, 9)}${number(a(servers), 0, 11)}${number(rss, 0, 10)}${number(load, 1, 8)}`,
    ].join("");
  };
  const nova = instances === null ? "without Nova" : `${instances} instances in Nova`;
  return [
    `\n${TITLES[engine]}, ${machines} machines with two interfaces each, ${nova}`,
    `  ${"".padEnd(36)}  seconds  x peer  x CPU  tool us  server us  peak MiB    load`,
    ...rows.map((row) => line(row.stage, row)),
    line(
      "road: extract, plan, load, verify",
      sumOf(rows.filter((row) => FORTH.includes(row.stage))),
    ),
    ...peers.map((one) => line(one.what, one)),
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

/** Whether the promises hold for a fleet. @param smaller one of a tenth, as it went before; null: none did */
export function verdicts(round: Round, smaller: Round | null): string {
  const { engine, machines, rows, peers } = round;
  const seconds = (stage: string): number => rows.find((row) => row.stage === stage)?.seconds ?? 0;
  const peer = peers[0]?.seconds ?? 0;
  const judge = (what: string, value: number, limit: number, unit = "x"): string =>
    `  ${value <= limit ? "held  " : "MISSED"} ${what} ${value.toFixed(2)}${unit}, limit ${limit}${unit}`;
  const most = LOAD[engine];
  const ratios = [
    ...(most === undefined ? [] : [judge("load, of its peer:", seconds("load") / peer, most)]),
    ...(engine === "mysql"
      ? [
          judge(
            "road, of its peer:",
            FORTH.reduce((sum, one) => sum + seconds(one), 0) / peer,
            ROAD,
          ),
        ]
      : []),
    judge("rollback, of the load:", seconds("rollback") / seconds("load"), BACK),
  ];
  const memory = rows.flatMap(({ stage, rss }) => {
    const before = smaller?.rows.find((row) => row.stage === stage)?.rss ?? null;
    return [
      judge(`${stage}, peak:`, rss ?? Number.POSITIVE_INFINITY, RSS.most, " MiB"),
      ...(before === null || rss === null
        ? []
        : [judge(`${stage}, peak, of that of a tenth:`, rss / before, RSS.growth)]),
    ];
  });
  const missed = memory.filter((line) => line.includes("MISSED"));
  const held = `  held   peak memory of ${memory.length - missed.length} of ${memory.length} looks`;
  // Of a small fleet a start is most of it.
  return [...(machines < SMALL ? [] : ratios), held, ...missed, ""].join("\n");
}
