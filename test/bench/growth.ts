import type { Engine } from "../../src/model/database.ts";
import { connect } from "../lab/connect.ts";
import type { Server } from "../lab/server.ts";
import { type Cost, command } from "./command.ts";
import { judge } from "./measure.ts";
import { type Ground, NAMES, type Step, steps, withGround } from "./road.ts";

/**
 * What grows with the fleet shows at small sizes, where time hides it: a start takes as long as a thousand
 * machines. On servers the rows they read are counted. SQLite counts none; there it is the CPU that
 * more machines take beyond fewer, twice as much for twice as many more, at sizes where a start is little.
 * Whatever else runs on the host adds to that CPU and takes nothing from it: what seems too much is
 * measured again, and of a stage's times at one size the smallest counts.
 */
const SIZES = {
  mysql: [1000, 4000],
  postgresql: [1000, 4000],
  sqlite: [8000, 16_000, 32_000],
} as const;
const LIMITS = { rows: 1.3, cpu: 2.4, rss: 400 } as const;
/**
 * Seconds, and part of what a stage takes, by which a clock that slows down may make a stage's growth the larger: a small
 * one says nothing by it, and is judged by what it does (see counted.ts).
 */
const DOUBT = { seconds: 0.5, part: 0.25 } as const;
/** A clock that changes by a third from second to second was seen to make three rounds too steep; the smallest of more are alike. */
const ROUNDS = 8;
/** Every second machine is in use: more of Nova's rows than most fleets have. */
export const SHARE = 2;

/** Stages that must have been measured; whatever else the road has is judged too. */
const STAGES = [
  ...["extract", "plan", "load", "verify", "second apply"],
  ...["rollback", "check", "show", "status"],
];

/** On PostgreSQL: MariaDB has an index, and on SQLite `systems/ironic-db/judge.test.ts` sees how rows are found. */
const PREVIEW = "rollback --plan";

/** A server that can be started again. */
type Started = Server & { readonly restart?: () => Promise<void> };

interface Walk extends Cost {
  /** Rows the server read for it; SQLite tells none. */
  readonly read: number;
}

/** One fleet: what each stage cost. */
type Walked = ReadonlyMap<string, Walk>;

/**
 * `npm run bench -- growth`: nothing may take more for a machine of a larger fleet.
 *
 * @returns what was found, for people; MISSED stands in front of what is too much
 */
export async function benchGrowth(server: Started | null): Promise<string> {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const engine = server?.engine ?? "sqlite";
  const sizes = SIZES[engine];
  let walks = await walkAll(server, sizes);
  let rounds = 1;
  while (server === null && isSteep(walks) && rounds < ROUNDS) {
    rounds += 1;
    const again = await walkAll(server, sizes);
    walks = walks.map((walked, at) => smaller(walked, again[at] ?? new Map()));
  }
  write(`\ngrowth on ${engine}, ${sizes.join(", ")} machines\n`);
  const stages = engine === "postgresql" ? [...STAGES, PREVIEW] : STAGES;
  for (const stage of new Set([...stages, ...walks.flatMap((one) => [...one.keys()])])) {
    const costs = walks.map((one) => one.get(stage));
    if (costs.every((cost) => cost !== undefined)) judgeStage(stage, costs, sizes, server, write);
    else write(`  MISSED ${stage}: it was not measured\n`);
  }
  if (server !== null) return lines.join("");
  const what = `CPU of twice the machines (measured ${rounds} of at most ${ROUNDS} times)`;
  judge(write, `all: ${what}`, growthOfCpu(walks), LIMITS.cpu);
  return lines.join("");
}

async function walkAll(server: Started | null, sizes: readonly number[]): Promise<Walked[]> {
  const walks: Walked[] = [];
  for (const size of sizes) walks.push(await walk(server, size));
  return walks;
}

/** @returns the CPU of the last sizes' difference, in that of the difference before */
function growthOfCpu(walks: readonly Walked[]): number {
  const sums = walks.map((one) => [...one.values()].reduce((sum, { cpu }) => sum + (cpu ?? 0), 0));
  return ratio(beyond(sums), 0.1);
}

/** Whether the CPU of all stages, or of one, grows too much. */
function isSteep(walks: readonly Walked[]): boolean {
  const stages = [...(walks[0]?.keys() ?? [])];
  return (
    growthOfCpu(walks) > LIMITS.cpu ||
    stages.some((stage) => {
      const { growth, limit } = stageGrowth(walks.map((one) => one.get(stage)?.cpu ?? 0));
      return growth > limit;
    })
  );
}

/** @returns by how much CPU grew last, and by how much it may have; seconds */
function stageGrowth(cpu: readonly number[]) {
  const [before = 0, growth = 0] = beyond(cpu);
  const doubt = DOUBT.seconds + DOUBT.part * (cpu.at(-1) ?? 0);
  return { growth, limit: LIMITS.cpu * Math.max(before, 0) + doubt };
}

/** Of two walks of one fleet each stage's smaller CPU, and its larger memory: that is no less true for being rare. */
function smaller(one: Walked, other: Walked): Walked {
  return new Map(
    [...one].map(([stage, cost]): [string, Walk] => {
      const again = other.get(stage) ?? cost;
      const cpu = cost.cpu === null || again.cpu === null ? null : Math.min(cost.cpu, again.cpu);
      const rss = cost.rss === null || again.rss === null ? null : Math.max(cost.rss, again.rss);
      return [stage, { ...cost, cpu, rss }];
    }),
  );
}

function judgeStage(
  stage: string,
  costs: readonly Walk[],
  sizes: readonly number[],
  server: Server | null,
  write: (text: string) => void,
): void {
  const rows = costs.map(({ read }, at) => read / (sizes[at] ?? 1));
  const told = server === null ? beyond(costs.map(({ cpu }) => cpu ?? 0)) : rows;
  const what = server === null ? "CPU s beyond the fewer" : "rows read a machine";
  const peak = Math.max(...costs.map(({ rss }) => rss ?? Number.POSITIVE_INFINITY));
  const numbers = told.map((one) => one.toFixed(2).padStart(9)).join("");
  write(`  ${stage.padEnd(15)}${numbers}  ${what}${peak.toFixed(0).padStart(6)} MiB\n`);
  const most = (of: string, value: number, limit: number): void => {
    if (value > limit) judge(write, `${stage}: ${of}`, value, limit);
  };
  if (server !== null) most(what, ratio(rows, 1), LIMITS.rows);
  else {
    const { growth, limit } = stageGrowth(costs.map(({ cpu }) => cpu ?? 0));
    most(what, growth, Number(limit.toFixed(2)));
  }
  most("peak MiB", peak, LIMITS.rss);
}

/** By how much each is more than the one before. */
function beyond(values: readonly number[]): readonly number[] {
  return values.slice(1).map((value, at) => value - (values[at] ?? 0));
}

/** @param least what is so little that it says nothing */
function ratio([one = 0, other = 0]: readonly number[], least: number): number {
  return Math.max(other, least) / Math.max(one, least);
}

/** The whole road, and back. */
function walk(server: Started | null, machines: number): Promise<Walked> {
  return withGround(server, { machines, share: SHARE, stale: true }, async (ground) => {
    if (ground.engine === "postgresql") await walkNoTable(ground);
    if (ground.engine === "mysql") await loseStatistics(ground, server);
    const walked = new Map<string, Walk>();
    const all = steps(ground, server === null ? "read" : "changed");
    for (const { stage, words } of all.flatMap((step) => [
      ...(ground.engine === "postgresql" ? previewOf(step) : []),
      step,
    ])) {
      const before = await rowsRead(ground);
      const cost = await command(ground.folder, words);
      walked.set(stage, { ...cost, read: (await rowsRead(ground)) - before });
    }
    return walked;
  });
}

/** What shows a rollback before it is done: it has no index of its own. */
function previewOf({ stage, words: [command, ...words] }: Step): readonly Step[] {
  return stage === "rollback" ? [{ stage: PREVIEW, words: [command, ...words, "--plan"] }] : [];
}

/** PostgreSQL walks small tables though they have an index: what is counted is what has none. */
async function walkNoTable({ place }: Ground): Promise<void> {
  for (const name of NAMES) {
    const db = connect(place(name));
    await db.raw(`ALTER DATABASE ${place(name).database} SET enable_seqscan = off`);
    await db.destroy();
  }
}

/**
 * MariaDB renews them some seconds after a load: what is counted is what goes by those of an empty table. How many rows
 * there are it knows until it is started again.
 */
async function loseStatistics({ place }: Ground, server: Started | null): Promise<void> {
  await server?.restart?.();
  const db = connect(place("ironic"));
  await db.raw("SET GLOBAL innodb_stats_auto_recalc = OFF");
  await db.destroy();
}

const READ: { readonly [engine in Engine]: string | null } = {
  mysql:
    "SELECT sum(variable_value) AS n FROM information_schema.global_status WHERE variable_name LIKE 'HANDLER_READ%'",
  postgresql: "SELECT coalesce(sum(seq_tup_read), 0) AS n FROM pg_stat_user_tables",
  sqlite: null,
};

/** Rows that the server has read since it was started, of whatever table. */
async function rowsRead({ engine, place }: Ground): Promise<number> {
  let rows = 0;
  for (const name of NAMES) {
    const sql = READ[engine];
    // MariaDB counts for the whole server.
    if (sql === null || (engine === "mysql" && name !== "ironic")) continue;
    const db = connect(place(name));
    try {
      const answer: unknown = await db.raw(sql);
      const [row] =
        engine === "mysql"
          ? (answer as [{ n: string }[]])[0]
          : (answer as { rows: { n: string }[] }).rows;
      rows += Number(row?.n ?? 0);
    } finally {
      await db.destroy();
    }
  }
  return rows;
}
