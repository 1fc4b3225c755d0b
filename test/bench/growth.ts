import { connect, rowsOf } from "../lab/connect.ts";
import type { Server } from "../lab/server.ts";
import { type Cost, command } from "./command.ts";
import { judge } from "./measure.ts";
import { type Ground, NAMES, type Step, steps, withGround } from "./road.ts";

/**
 * What grows with the fleet shows at small sizes, where time hides it: the rows that servers read are counted. SQLite
 * counts none; what a command does there is counted by counted.ts.
 */
const SIZES = [1000, 4000] as const;
const LIMITS = { rows: 1.3, rss: 400 } as const;
/** Every second machine is in use: more of Nova's rows than most fleets have. */
export const SHARE = 2;

/** Stages that must have been measured; whatever else the road has is judged too. */
const STAGES = [
  ...["extract", "plan", "load", "verify", "second apply"],
  ...["rollback", "check", "show", "status"],
];

/** On PostgreSQL: MariaDB has an index, and on SQLite `systems/ironic-db/judge.test.ts` sees how rows are found. */
const PREVIEW = "rollback --plan";

type Started = Server & { readonly restart?: () => Promise<void> };
type RunningLeg = Cost & { readonly read: number };

/**
 * `npm run bench -- growth`: nothing may take more for a machine of a larger fleet.
 * @returns what was found, for people; MISSED stands in front of what is too much
 */
export async function benchGrowth(server: Started): Promise<string> {
  const { engine } = server;
  const walks: Awaited<ReturnType<typeof walk>>[] = [];
  for (const size of SIZES) walks.push(await walk(server, size));
  const lines = [`\ngrowth on ${engine}, ${SIZES.join(", ")} machines\n`];
  const write = (line: string): void => void lines.push(line);
  const stages = engine === "postgresql" ? [...STAGES, PREVIEW] : STAGES;
  for (const stage of new Set([...stages, ...walks.flatMap((one) => [...one.keys()])])) {
    const costs = walks.map((one) => one.get(stage));
    if (costs.every((cost) => cost !== undefined)) judgeStage(stage, costs, write);
    else write(`  MISSED ${stage}: it was not measured\n`);
  }
  return lines.join("");
}

function judgeStage(stage: string, costs: readonly RunningLeg[], write: (text: string) => void) {
  const rows = costs.map(({ read }, at) => read / (SIZES[at] ?? 1));
  const what = "rows read a machine";
  const peak = Math.max(...costs.map(({ rss }) => rss ?? Number.POSITIVE_INFINITY));
  const numbers = rows.map((one) => one.toFixed(2).padStart(9)).join("");
  write(`  ${stage.padEnd(15)}${numbers}  ${what}${peak.toFixed(0).padStart(6)} MiB\n`);
  const most = (of: string, value: number, limit: number): void => {
    if (value > limit) judge(write, `${stage}: ${of}`, value, limit);
  };
  // Less than a row says nothing.
  const [few = 0, many = 0] = rows;
  most(what, Math.max(many, 1) / Math.max(few, 1), LIMITS.rows);
  most("peak MiB", peak, LIMITS.rss);
}

function walk(server: Started, machines: number) {
  return withGround(server, { machines, share: SHARE, stale: true }, async (ground) => {
    const { engine, place } = ground;
    const change = async (name: (typeof NAMES)[number], sql: string): Promise<void> => {
      const db = connect(place(name));
      await db.raw(sql).finally(() => db.destroy());
    };
    // PostgreSQL scans small tables although they have an index. Only scans without an index are counted.
    for (const name of engine === "postgresql" ? NAMES : [])
      await change(name, `ALTER DATABASE ${place(name).database} SET enable_seqscan = off`);
    // MariaDB renews its statistics some seconds after a load, and keeps the number of rows until a restart. Statements
    // are counted with the statistics of an empty table.
    if (engine === "mysql") await server.restart?.();
    if (engine === "mysql") await change("ironic", "SET GLOBAL innodb_stats_auto_recalc = OFF");
    const walked = new Map<string, RunningLeg>();
    const all = steps(ground, "changed").flatMap((step): readonly Step[] => {
      const { stage, words } = step;
      // The preview of a rollback creates no index.
      const shown = stage === "rollback" && engine === "postgresql";
      return shown ? [{ stage: PREVIEW, words: [...words, "--plan"] }, step] : [step];
    });
    for (const { stage, words } of all) {
      const before = await rowsRead(ground);
      const cost = await command(ground.folder, words);
      walked.set(stage, { ...cost, read: (await rowsRead(ground)) - before });
    }
    return walked;
  });
}

const READ: { readonly [engine in Server["engine"]]: string } = {
  mysql:
    "SELECT sum(variable_value) AS n FROM information_schema.global_status WHERE variable_name LIKE 'HANDLER_READ%'",
  postgresql: "SELECT coalesce(sum(seq_tup_read), 0) AS n FROM pg_stat_user_tables",
};

async function rowsRead({ engine, place }: Ground): Promise<number> {
  let rows = 0;
  for (const name of NAMES) {
    // MariaDB counts for the whole server.
    if (engine === "sqlite" || (engine === "mysql" && name !== "ironic")) continue;
    const db = connect(place(name));
    try {
      const [row] = await rowsOf<{ readonly n: string }>(db, READ[engine]);
      rows += Number(row?.n ?? 0);
    } finally {
      await db.destroy();
    }
  }
  return rows;
}
