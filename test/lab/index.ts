import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { binaries, SERVERS, type ServerEngine } from "./binaries.ts";
import { connect } from "./connect.ts";
import type { IronicAt } from "./ironic/start.ts";
import { startMariadb } from "./mariadb.ts";
import { startPostgres } from "./postgres.ts";
import { type Coordinates, newPassword, type Server, serverAt } from "./server.ts";

export interface Lab {
  /** Null when it is not installed, or in the fast part. */
  readonly mariadb: Server | null;
  readonly postgres: Server | null;
}

/** The file N2I_LAB names, mode 0600: where the runner's servers are. */
export interface LabFile {
  readonly mariadb: Coordinates | null;
  readonly postgres: Coordinates | null;
  /** None when it is not installed, and when no test file of the run needs it. */
  readonly ironics: readonly IronicAt[];
}

export interface TestDatabase {
  readonly engine: Engine;
  /** Absolute path on SQLite. */
  readonly name: string;
  /** For the superuser; `sqlite:////path` on SQLite. */
  readonly url: string;
  /** The tests' own connection. */
  readonly db: Knex;
  /** Null on SQLite. */
  readonly server: Server | null;
}

type Test = Pick<TestContext, "after" | "skip">;

let running: Promise<Lab> | null = null;

/** The servers the runner started, or servers of this process that end with it. */
export function lab(): Promise<Lab> {
  running ??= open();
  return running;
}

/**
 * A server for a test that needs one; null after the test was told to skip itself:
 * `const server = await needs("mysql", t); if (server === null) return;`
 */
export async function needs(engine: ServerEngine, t: Test): Promise<Server | null> {
  const { mariadb, postgres } = await lab();
  const server = engine === "mysql" ? mariadb : postgres;
  if (server === null) t.skip(howToGet(engine));
  return server;
}

/** A new empty database, gone when the test is; null after the test was told to skip itself. */
export async function withDatabase(
  engine: Engine,
  t: Test,
  charset?: string,
): Promise<TestDatabase | null> {
  if (engine === "sqlite") return sqliteFile(t);
  const server = await needs(engine, t);
  if (server === null) return null;
  const name = `test_${newPassword().slice(0, 12)}`;
  await server.newDatabase(name, charset);
  const db = connect({ ...server, database: name });
  t.after(async () => {
    await db.destroy();
    await server.dropDatabase(name);
  });
  return { engine, name, url: server.url(name), db, server };
}

/** Starts both servers; installs them first when they are missing and that is possible. */
export async function startLab(): Promise<Lab> {
  const has = { mariadb: binaries("mysql") !== null, postgres: binaries("postgresql") !== null };
  const [mariadb, postgres] = await Promise.all([
    has.mariadb ? startMariadb("in memory") : null,
    has.postgres ? startPostgres("in memory") : null,
  ]);
  return { mariadb, postgres };
}

function sqliteFile(t: Test): TestDatabase {
  const folder = mkdtempSync(join(tmpdir(), "n2i-sqlite-"));
  const path = join(folder, "test.sqlite");
  const place = { host: "", port: 0, user: "", password: "" };
  const db = connect({ ...place, engine: "sqlite", database: path });
  t.after(async () => {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  return { engine: "sqlite", name: path, url: `sqlite:///${path}`, db, server: null };
}

async function open(): Promise<Lab> {
  if (process.env.N2I_FAST === "1") return { mariadb: null, postgres: null };
  const path = process.env.N2I_LAB;
  if (path === undefined) return startLab();
  // The runner wrote it.
  const file = JSON.parse(readFileSync(path, "utf8")) as LabFile;
  const attach = (at: Coordinates | null) => at && serverAt(at, async () => {});
  return { mariadb: attach(file.mariadb), postgres: attach(file.postgres) };
}

function howToGet(engine: ServerEngine): string {
  const { title, packages } = SERVERS[engine];
  return process.env.N2I_FAST === "1"
    ? `needs ${title}, and the fast part starts no servers: run npm test`
    : `needs ${title}: apt-get install ${packages.join(" ")}`;
}
