import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { SERVERS, type ServerEngine } from "./binaries.ts";
import { connect } from "./connect.ts";
import type { IronicAt } from "./ironic/start.ts";
import { type Coordinates, newPassword, type Server, serverAt } from "./server.ts";
import { startMariadb, startPostgres } from "./start.ts";

export interface Lab {
  /** Null in a lane that does not start it. */
  readonly mariadb: Server | null;
  readonly postgres: Server | null;
}

/** The file N2I_LAB names, mode 0600: where the runner's servers are. */
export interface LabFile {
  readonly mariadb: Coordinates | null;
  readonly postgres: Coordinates | null;
  /** Null in a lane without one. */
  readonly ironic: IronicAt | null;
}

export interface TestDatabase {
  readonly engine: Engine;
  /** Absolute path on SQLite. */
  readonly name: string;
  /** For the superuser; `sqlite:////path` on SQLite. */
  readonly url: string;
  readonly db: Knex;
  /** Null on SQLite. */
  readonly server: Server | null;
}

type Test = Pick<TestContext, "after">;

let running: Promise<Lab> | null = null;

/** The servers the runner started, or servers of this process that end with it. */
export function lab(): Promise<Lab> {
  running ??= open();
  return running;
}

/** The server of an engine, for a test of a lane that has one. @throws Error with the packages to install */
export async function needs(engine: ServerEngine): Promise<Server> {
  const { mariadb, postgres } = await lab();
  const server = engine === "mysql" ? mariadb : postgres;
  if (server === null) throw new Error(`this lane starts no ${SERVERS[engine].title}`);
  return server;
}

/** A new empty database, gone when the test is. */
export async function withDatabase(engine: Engine, t: Test, charset?: string) {
  if (engine === "sqlite") return sqliteFile(t);
  const server = await needs(engine);
  const name = `test_${newPassword().slice(0, 12)}`;
  await server.newDatabase(name, charset);
  const db = connect({ ...server, database: name });
  t.after(async () => {
    await db.destroy();
    await server.dropDatabase(name);
  });
  return { engine, name, url: server.url(name), db, server };
}

/** Writes a database's URL to a file of a private folder. @returns the address of that file */
export function addressFile(folder: string, name: string, url: string): string {
  const path = join(folder, `${name}.url`);
  writeFileSync(path, url, { mode: 0o600 });
  return `file:${path}`;
}

/** Starts both servers. @throws Error with the packages of one that is not installed */
async function startLab(): Promise<Lab> {
  const [mariadb, postgres] = await Promise.all([
    startMariadb("in memory"),
    startPostgres("in memory"),
  ]);
  return { mariadb, postgres };
}

function sqliteFile(t: Test): TestDatabase {
  const folder = mkdtempSync(join(tmpdir(), "n2i-sqlite-"));
  const path = join(folder, "test.sqlite");
  const db = connect({ engine: "sqlite", database: path });
  t.after(async () => {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  return { engine: "sqlite", name: path, url: `sqlite:///${path}`, db, server: null };
}

async function open(): Promise<Lab> {
  const path = process.env.N2I_LAB;
  if (path === undefined) return startLab();
  // The runner wrote it.
  const file = JSON.parse(readFileSync(path, "utf8")) as LabFile;
  const attach = (at: Coordinates | null) => at && serverAt(at, async () => {});
  return { mariadb: attach(file.mariadb), postgres: attach(file.postgres) };
}
