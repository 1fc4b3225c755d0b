import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/model/database.ts";
import { connect, type Place } from "../lab/connect.ts";
import type { Server } from "../lab/server.ts";
import { type Cost, command } from "./command.ts";
import { NAMES, prepare } from "./road.ts";

/**
 * What grows with the fleet shows at small sizes, where time hides it: a start takes as long as a thousand
 * machines. On servers the rows they read are counted. Where a batch is most of a table MariaDB walks it
 * though there is an index, so it begins with more machines. SQLite counts none; there it is the CPU that
 * more machines take beyond fewer, twice as much for twice as many more: at sizes short enough for every
 * change that is told alone (1.2 to 4.5 was seen of the same code), and judged at `WHOLE`.
 */
const SIZES = {
  mysql: [2000, 4000],
  postgresql: [1000, 4000],
  sqlite: [1000, 2000, 4000],
} as const;
const WHOLE = [8000, 16_000, 32_000] as const;
const LIMITS = { rows: 1.3, cpu: 2.4, rss: 200 } as const;

/** One fleet: what each command cost, and the rows the server read for it; SQLite tells none. */
type Walked = ReadonlyMap<string, Cost & { readonly read: number }>;

/**
 * `npm run bench -- growth`: nothing may take more for a machine of a larger fleet.
 *
 * @param whole SQLite's CPU is judged too
 */
export async function benchGrowth(
  server: Server | null,
  write: (text: string) => void,
  whole = false,
): Promise<void> {
  const engine = server?.engine ?? "sqlite";
  const sizes = whole && server === null ? WHOLE : SIZES[engine];
  const walks: Walked[] = [];
  for (const size of sizes) walks.push(await walk(server, size));
  const [small, middle, large = middle] = walks;
  if (small === undefined || middle === undefined || large === undefined) return;
  write(`\ngrowth on ${engine}, ${sizes.join(", ")} machines\n`);
  for (const stage of large.keys()) {
    const [a, b, c] = [small, middle, large].map((one) => one.get(stage));
    if (a === undefined || b === undefined || c === undefined)
      throw new Error(`${stage} was not run for every fleet`);
    const rows = [a.read / (sizes[0] ?? 1), b.read / (sizes[1] ?? 1)];
    const cpu = [(b.cpu ?? 0) - (a.cpu ?? 0), (c.cpu ?? 0) - (b.cpu ?? 0)];
    const told = server === null ? cpu : rows;
    const what = server === null ? "CPU s beyond the fewer" : "rows read a machine";
    write(
      `  ${stage.padEnd(14)}${told.map((one) => one.toFixed(2).padStart(9)).join("")}  ${what}\n`,
    );
    if (server !== null) judge(stage, what, ratio(rows, 1), LIMITS.rows, write);
    judge(stage, "peak MiB", c.rss ?? 0, LIMITS.rss, write);
  }
  if (server !== null || !whole) return;
  const sum = (one: Walked): number =>
    [...one.values()].reduce((total, { cpu }) => total + (cpu ?? 0), 0);
  const more = [sum(middle) - sum(small), sum(large) - sum(middle)];
  judge("all", "CPU of twice the machines", ratio(more, 0.1), LIMITS.cpu, write);
}

/** @param least what is so little that it says nothing */
function ratio([one = 0, other = 0]: readonly number[], least: number): number {
  return Math.max(other, least) / Math.max(one, least);
}

function judge(
  stage: string,
  what: string,
  value: number,
  limit: number,
  write: (text: string) => void,
): void {
  const verdict = value <= limit ? "held  " : "MISSED";
  if (value > limit || stage === "all")
    write(`  ${verdict} ${stage}: ${what} ${value.toFixed(2)}, limit ${limit}\n`);
}

/** The whole road, and back. */
async function walk(server: Server | null, machines: number): Promise<Walked> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-growth-"));
  const engine = server?.engine;
  const sqlite = { engine: "sqlite", host: "", port: 0, user: "", password: "" } as const;
  const place = (name: string): Place =>
    server === null
      ? { ...sqlite, database: join(folder, `${name}.db`) }
      : { ...server, database: `growth_${name}` };
  const url = (name: string): string =>
    server?.url(`growth_${name}`) ?? `sqlite:///${folder}/${name}.db`;
  try {
    for (const name of NAMES) {
      await server?.newDatabase(`growth_${name}`);
      if (engine !== "postgresql") continue;
      // It walks small tables though they have an index: what is counted is what has none.
      const db = connect(place(name));
      await db.raw(`ALTER DATABASE growth_${name} SET enable_seqscan = off`);
      await db.destroy();
    }
    const { nova_bm: bm, nova, ironic } = await prepare(folder, machines, place, url);
    const [from, to] = [
      ["--nova-bm-db", bm, "--nova-db", nova],
      ["--ironic-db", ironic],
    ];
    const load = [...to, "--leave-nova", "--yes"];
    const stages: readonly (readonly [string, ...string[]])[] = [
      ["extract", ...from, "--nova-conf", "nova.conf"],
      ["plan", ...to, ...from.slice(2), "--site", "site.json"],
      ["apply", ...load],
      ["verify", ...to],
      ["check", ...from, ...to, "--watch", "0"],
      ["show", "run/plan"],
      ["status"],
      ["rollback", ...load, "--all"],
    ];
    const walked = new Map<string, Cost & { readonly read: number }>();
    for (const [name, ...words] of stages) {
      const before = await rowsRead(place);
      const cost = await command(folder, [
        name,
        ...(name === "show" ? [] : ["--run", "run"]),
        ...words,
      ]);
      walked.set(name, { ...cost, read: (await rowsRead(place)) - before });
    }
    return walked;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    for (const name of NAMES) await server?.dropDatabase(`growth_${name}`);
  }
}

const READ: { readonly [engine in Engine]: string | null } = {
  mysql:
    "SELECT sum(variable_value) AS n FROM information_schema.global_status WHERE variable_name LIKE 'HANDLER_READ%'",
  postgresql: "SELECT coalesce(sum(seq_tup_read), 0) AS n FROM pg_stat_user_tables",
  sqlite: null,
};

/** Rows that the server has read since it was started, of whatever table. */
async function rowsRead(place: (name: string) => Place): Promise<number> {
  let rows = 0;
  for (const name of NAMES) {
    const { engine } = place(name);
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
