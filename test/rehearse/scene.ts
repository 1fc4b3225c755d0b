import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { Case } from "../../src/demo/case.ts";
import type { Engine } from "../../src/model/database.ts";
import type { Entry } from "../../src/model/journal.ts";
import type { Rehearsal } from "../../src/model/rehearsal.ts";
import { runs } from "../hostile/cli.ts";
import { type Deployment, deploy } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { connect } from "../lab/connect.ts";
import type { TestDatabase } from "../lab/index.ts";

/** A run with a plan, and a login that may read Ironic's database and make its copy. */
export interface Rehearsing extends Deployment {
  /** `--run`, and Ironic's database for a login that cannot write to it. */
  readonly words: readonly string[];
  /** Where the copy goes. */
  readonly copy: string;
  readonly isCopied: () => Promise<boolean>;
  /** All rows of all tables of Ironic's database. */
  readonly dump: () => Promise<string>;
  readonly found: () => Rehearsal;
  readonly entries: () => readonly Entry[];
}

export async function rehearsing(
  engine: Engine,
  t: TestContext,
  given: Case = SMALL,
): Promise<Rehearsing> {
  const made = await deploy(engine, t, given);
  const { at, source, reader, plan, run, folder, ironic } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  const copy = copyOf(ironic.name);
  const url = join(folder, "rehearser.url");
  writeFileSync(url, await rehearserOf(ironic), { mode: 0o600 });
  const { server } = ironic;
  if (server !== null) t.after(() => server.dropDatabase(copy));
  const journal = join(run, "rehearsal", "journal.jsonl");
  return {
    ...{ ...made, copy },
    words: ["rehearse", ...at, "--ironic-db", `file:${url}`],
    isCopied: async () => (server === null ? isAt(copy) : server.hasDatabase(copy)),
    dump: () => dumpOf(ironic),
    found: () => foundIn(made),
    entries: () =>
      readFileSync(journal, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Entry),
  };
}

/** What the last rehearsal of a run found. */
export function foundIn({ run }: Pick<Deployment, "run">): Rehearsal {
  return JSON.parse(readFileSync(join(run, "rehearsal.json"), "utf8")) as Rehearsal;
}

/** Whether a file is there, or one that is to be it. */
function isAt(path: string): boolean {
  return readdirSync(dirname(path)).some((name) => name.startsWith(basename(path)));
}

/** The address of a login that may make the copy, and may not write to what is copied. */
async function rehearserOf(ironic: TestDatabase): Promise<string> {
  if (ironic.server === null) return ironic.url;
  const account = await ironic.server.restrictedUser("rehearser", ironic.name, "SELECT");
  await letCopy(ironic, account.user);
  return account.url;
}

/** Lets a user make the copy of a database. */
export async function letCopy(
  { engine, name, db }: Pick<TestDatabase, "engine" | "name" | "db">,
  user: string,
): Promise<void> {
  if (engine === "sqlite") return;
  const pattern = copyOf(name).replaceAll("_", "\\_");
  await db.raw(
    engine === "mysql"
      ? `GRANT ALL PRIVILEGES ON \`${pattern}\`.* TO '${user}'@'127.0.0.1'`
      : `ALTER ROLE ${user} CREATEDB`,
  );
}

export function copyOf(name: string): string {
  return `${name}_nova2ironic_rehearsal`;
}

const TABLES = {
  mysql: "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
  postgresql: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'",
};

/** Every row of every table, whatever the order. */
export async function dumpOf({ db, engine }: Pick<TestDatabase, "db" | "engine">): Promise<string> {
  const answer: unknown = await db.raw(TABLES[engine]);
  const rows =
    engine === "mysql"
      ? (answer as [[]])[0]
      : engine === "sqlite"
        ? answer
        : (answer as { rows: [] }).rows;
  const names = (rows as { name: string }[]).map(({ name }) => name).sort();
  const told: unknown[] = [];
  for (const name of names) {
    const all: object[] = await db(name).select();
    told.push([name, all.map((row) => JSON.stringify(row, plainly)).sort()]);
  }
  return JSON.stringify(told);
}

function plainly(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** A database of the copy's name that somebody else made. */
export async function takenBy(t: TestContext, { copy, ironic }: Rehearsing): Promise<TestDatabase> {
  const { engine, server } = ironic;
  if (server === null) {
    const place = { host: "", port: 0, user: "", password: "", socket: "" };
    const db = connect({ ...place, engine: "sqlite", database: copy });
    t.after(() => db.destroy());
    await db.raw("CREATE TABLE theirs (id integer)");
    return { ...ironic, name: copy, db };
  }
  await server.newDatabase(copy);
  const db = connect({ ...server, database: copy });
  t.after(() => db.destroy());
  await db.raw("CREATE TABLE theirs (id integer)");
  return { engine, name: copy, url: server.url(copy), db, server };
}
