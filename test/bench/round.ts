import type { Server } from "../lab/server.ts";
import { type Cost, command } from "./command.ts";
import { judge } from "./measure.ts";
import { type Peer, peer } from "./peer.ts";
import { type Step, steps, withGround } from "./road.ts";

type Row = Cost & { readonly stage: string };

/** One of this many machines is in use: 20,000 instances in a fleet of 100,000. */
const SHARE = 5;

const NOVA_STAGES: readonly string[] = ["plan", "load", "verify", "second apply", "rollback"];

interface Queried {
  readonly nova: boolean;
  readonly profile: string | null;
}

/** The costs of one fleet on one engine. */
type Round = Awaited<ReturnType<typeof round>>;

/**
 * Makes the fleet, migrates it with the real program, command by command, and measures the engine's own
 * dump and restore of the same tables.
 * @param server null: SQLite
 * @param tell gets a line as soon as a command has ended, because all of them take an hour
 */
export function round(
  server: Server | null,
  machines: number,
  { nova, profile }: Queried,
  tell: (line: string) => void,
) {
  return withGround(server, { machines, share: SHARE }, async (ground) => {
    const { engine, folder } = ground;
    const rows: Row[] = [];
    let found: Peer | null = null;
    const run = async ({ stage, words }: Step): Promise<void> => {
      const dir = `${profile}/${engine}-${machines}-${stage.replaceAll(" ", "-")}`;
      const flags = profile === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${dir}`];
      const { verify, ...cost } = await command(folder, words, { flags, server });
      const row = { stage, ...cost, ...(stage.startsWith("load") && verify) };
      rows.push(row);
      tell(lineOf(row, machines, null));
    };
    for (const step of steps(ground, nova ? "read" : "left")) {
      // The peer copies the loaded tables, so it runs before the rollback.
      if (step.stage === "rollback") found = await peer(ground);
      await run(step);
    }
    // Again, with changes to Nova's rows.
    for (const { stage, words } of nova ? steps(ground, "changed") : [])
      if (NOVA_STAGES.includes(stage)) await run({ stage: `${stage}, Nova's rows too`, words });
    const instances = nova ? Math.floor(machines / SHARE) : null;
    if (found === null) throw new Error("the road has a rollback");
    return { engine, machines, instances, rows, peer: found };
  });
}

export const HEAD = `  ${"".padEnd(36)}  seconds  x peer  x CPU  tool us  server us  peak MiB    load`;

/** The line of a stage, with the columns of `HEAD`. @param peer base of the ratios; null: not measured yet */
function lineOf({ stage, ...cost }: Row, machines: number, peer: Cost | null): string {
  const { seconds, cpu, servers, rss, load } = cost;
  const a = (one: number | null) => one && (one * 1e6) / machines;
  const times = (value: number | null, of: number | null): number | null =>
    value === null || !of ? null : value / of;
  const cells: readonly (readonly [number | null, digits: number, width: number])[] = [
    ...[[seconds, 2, 9] as const, [times(seconds, peer?.seconds ?? null), 2, 8] as const],
    ...[[peer && times(used(cost), used(peer)), 2, 7] as const, [a(cpu), 0, 9] as const],
    ...[[a(servers), 0, 11] as const, [rss, 0, 10] as const, [load, 1, 8] as const],
  ];
  const told = cells.map(([value, digits, width]) =>
    (value?.toFixed(digits) ?? "").padStart(width),
  );
  return `  ${stage.padEnd(36)}${told.join("")}`;
}

/** CPU seconds of the tool and the server; null if they were not measured. */
function used({ cpu, servers }: Cost): number | null {
  return cpu === null ? null : cpu + (servers ?? 0);
}

const TITLES: { readonly [engine: string]: string } = {
  mysql: "MariaDB",
  postgresql: "PostgreSQL",
  sqlite: "SQLite",
};

/** Time of a load, at most, as a multiple of the engine's own dump and restore. SQLite has no limit. */
const LOAD: { readonly [engine: string]: number } = { mysql: 1.2, postgresql: 1.5 };
/** Time of all stages on MariaDB, at most, as a multiple of the same. */
const ROAD = 3.5;
/** Time of a rollback, at most, as a multiple of the load. */
const BACK = 1.5;
/** Memory in MiB, at most. */
const RSS = 400;

/**
 * CPU time of the tool as a multiple of its peer's, at 100,000 machines, when the goal of half of it was set
 * (12ef1b1). A ratio does not depend on the machine. It was measured with a profiler, which adds half: see RESULTS.md.
 * PostgreSQL has no row, because its peer now takes twice the time.
 */
const CPU_BEFORE: { readonly [engine: string]: { readonly [stage: string]: number } } = {
  mysql: { extract: 1.52, plan: 1.9, load: 1.3, verify: 1.67 },
};

/** Fleets whose times are compared, and whose CPU time is: the start of the program is a part of it. */
const SMALL = 10_000;
const LARGE = 100_000;

const FORTH = ["extract", "plan", "load", "verify"];

/**
 * A table with the time, the CPU time and the memory of each stage, as a multiple of the peer and for each machine. A
 * line for each limit says whether it is met or MISSED.
 */
export function report({ engine, machines, instances, rows, peer }: Round): string {
  const line = (row: Row): string => lineOf(row, machines, peer);
  const road = sumOf(rows.filter((row) => FORTH.includes(row.stage)));
  const nova = instances === null ? "without Nova" : `${instances} instances in Nova`;
  const told = [
    `\n${TITLES[engine]}, ${machines} machines with two interfaces each, ${nova}`,
    ...[HEAD, ...rows.map(line)],
    ...[line({ stage: "road: extract, plan, load, verify", ...road }), line(peer), ""],
  ];
  const lines = [told.join("\n")];
  const limit = (what: string, value: number, most: number) =>
    judge((text) => lines.push(text), what, value, most);
  const of = (stage: string): number => rows.find((row) => row.stage === stage)?.seconds ?? 0;
  if (machines >= SMALL) {
    const most = LOAD[engine];
    if (most !== undefined) limit("load, times its peer", of("load") / peer.seconds, most);
    if (engine === "mysql") limit("road, times its peer", road.seconds / peer.seconds, ROAD);
    limit("rollback, times the load", of("rollback") / of("load"), BACK);
  }
  for (const { stage, cpu } of machines < LARGE ? [] : rows) {
    const [before, all] = [CPU_BEFORE[engine]?.[stage], used(peer)];
    if (before !== undefined && all && cpu !== null)
      limit(`${stage}, processor, times its peer's`, cpu / all, before / 2);
  }
  for (const { stage, rss } of rows)
    if (!(rss !== null && rss <= RSS)) limit(`${stage}, peak MiB`, rss ?? Infinity, RSS);
  return lines.join("");
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
