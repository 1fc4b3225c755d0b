import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { openDatabase } from "../../src/systems/database/open.ts";
import type { Case } from "../cases/case.ts";
import { loadIronic } from "../cases/load-case.ts";
import { writeCase } from "../cases/write-case.ts";
import { runs, run as runTool, start } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { connect } from "../lab/connect.ts";
import { addressFile, type TestDatabase, withDatabase } from "../lab/index.ts";
import { connectionsOf } from "./connections.ts";
import { copyFolder } from "./copy-folder.ts";
import { digestDatabase } from "./digest.ts";
import { addressAt } from "./opened.ts";
import { proxyTo } from "./proxy.ts";
import { onlyUnderLock } from "./under-lock.ts";

/** States of a run and its target by name, to try several ways on from one of them. */
export interface Kept {
  readonly save: (name: string) => Promise<void>;
  readonly restore: (name: string) => Promise<void>;
}

interface Place {
  readonly engine: Engine;
  readonly folder: string;
  readonly run: string;
  /** SQLite: the database's file. */
  readonly file: string;
  /** Elsewhere: a database (MySQL) or schema (PostgreSQL) beside it. */
  readonly beside: string;
  readonly sql: <T>(work: (db: Knex) => Promise<T>) => Promise<T>;
}

/** Files SQLite keeps beside a database; a process that was killed leaves some of them. */
const SIDES = ["", "-journal", "-wal", "-shm"];

export function savedStates(place: Place): Kept {
  const { engine, folder, run } = place;
  const database = engine === "sqlite" ? keepFile(place) : keepTables(place);
  return {
    async save(name) {
      const kept = join(folder, `kept-${name}`);
      rmSync(kept, { recursive: true, force: true });
      copyFolder(run, kept);
      await database.save(name);
    },
    async restore(name) {
      rmSync(run, { recursive: true, force: true });
      copyFolder(join(folder, `kept-${name}`), run);
      await database.restore(name);
    },
  };
}

/** Writes into the file there is, as the plan knows the database by its inode. */
function keepFile({ file }: Place): Kept {
  const states = new Map<string, ReadonlyMap<string, Buffer>>();
  return {
    async save(name) {
      const there = SIDES.filter((side) => existsSync(`${file}${side}`));
      states.set(name, new Map(there.map((side) => [side, readFileSync(`${file}${side}`)])));
    },
    async restore(name) {
      for (const side of SIDES) {
        const bytes = states.get(name)?.get(side);
        if (bytes !== undefined) writeFileSync(`${file}${side}`, bytes);
        else rmSync(`${file}${side}`, { force: true });
      }
    },
  };
}

/** Nodes and ports with their ids; numbering goes on from where it was. */
function keepTables({ sql, beside }: Place): Kept {
  return {
    save: (name) =>
      sql(async (db) => {
        for (const table of ["nodes", "ports"]) {
          await db.raw(`DROP TABLE IF EXISTS ${beside}.${name}_${table}`);
          await db.raw(`CREATE TABLE ${beside}.${name}_${table} AS SELECT * FROM ${table}`);
        }
      }),
    restore: (name) =>
      sql((db) =>
        db.transaction(async (trx) => {
          for (const table of ["ports", "nodes"]) await trx.raw(`DELETE FROM ${table}`);
          for (const table of ["nodes", "ports"])
            await trx.raw(`INSERT INTO ${table} SELECT * FROM ${beside}.${name}_${table}`);
        }),
      ),
  };
}

type OptionValues = readonly string[];

interface Options {
  /** The tool reaches the server by a line that can be cut. */
  readonly proxy?: boolean;
  /** What tools that are started find in their environment. */
  readonly env?: { readonly [name: string]: string };
}

export async function scene(
  engine: Engine,
  t: TestContext,
  given: Case,
  { proxy = false, env = {} }: Options = {},
) {
  const database = engine === "sqlite" ? null : await withDatabase(engine, t);
  const folder = privateFolder(t);
  const written = await writeCase(given, folder);
  const run = join(folder, "run");
  const file = join(folder, "ironic.sqlite");
  const sql = sqlOn(database, file);
  const target = database && (await onServer(database, t, given, proxy));
  const direct = database?.url ?? `sqlite:///${file}`;
  const ironic = ["--ironic-db", addressFile(folder, "ironic", target?.url ?? direct)];
  const at = ["--run", run];
  await runs(0, ["extract", ...at, ...written.extract]);
  await runs(0, ["plan", ...at, ...ironic, ...written.plan]);
  const words = (command: string, options: OptionValues): OptionValues => [
    ...[command, ...at, ...(command === "status" ? [] : ironic), ...options],
  ];
  return {
    ...{ engine, folder, run, file, ironic, sql, source: written.extract, plan: written.plan },
    ...savedStates({ engine, folder, run, file, sql, beside: target?.beside ?? "" }),
    /** Starts a command on this run and target; at `failpoint` it is killed or waits. */
    start: (command: string, options: OptionValues = [], failpoint?: string, more: object = {}) =>
      start(words(command, options), {
        env: { ...env, ...more, ...(failpoint && { NOVA2IRONIC_FAILPOINT: failpoint }) },
      }),
    does: (command: string, options: OptionValues = []) => runTool(words(command, options)),
    digest: () => digestAt(direct),
    connections: target?.connections ?? { gone: async () => {}, kill: async () => {} },
    line: target?.line ?? null,
  };
}

export type Scene = Awaited<ReturnType<typeof scene>>;

async function onServer(made: TestDatabase, t: TestContext, given: Case, proxied: boolean) {
  const { engine, name, db, server } = made;
  if (server === null) throw new Error("a server's database has a server");
  await loadIronic(db, engine, given);
  await onlyUnderLock(made);
  const beside = engine === "mysql" ? `${name}_kept` : "kept";
  if (engine === "mysql") {
    await server.newDatabase(beside);
    t.after(() => server.dropDatabase(beside));
  } else await db.raw("CREATE SCHEMA kept");
  const account = await server.restrictedUser("tool", name, "SELECT, INSERT, UPDATE, DELETE");
  const line = proxied ? await proxyTo(server.port, t) : null;
  const url = line ? account.url.replace(`:${server.port}/`, `:${line.port}/`) : account.url;
  const sql = sqlOn({ engine, name, server }, "");
  return { url, beside, line, connections: connectionsOf(server.engine, account.user, sql) };
}

/** Each look by a new connection: a file that was put back must not meet an old cache. */
function sqlOn(database: Pick<TestDatabase, "engine" | "name" | "server"> | null, file: string) {
  return async <T>(work: (db: Knex) => Promise<T>): Promise<T> => {
    const db = connect(
      database?.server
        ? { ...database.server, database: database.name }
        : { engine: "sqlite", database: file },
    );
    try {
      return await work(db);
    } finally {
      await db.destroy();
    }
  };
}

async function digestAt(url: string): Promise<string> {
  const database = await openDatabase(await addressAt(url), { readOnly: true });
  try {
    return await digestDatabase(database);
  } finally {
    await database.close();
  }
}
