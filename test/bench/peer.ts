import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "../lab/server.ts";
import type { Cost } from "./command.ts";

/** A command and its arguments. */
type Words = readonly [string, ...string[]];

/** How a server's own tools copy a database: each pipe is a writer and the reader it feeds. */
interface Copy {
  /** What makes the empty tables, where they have to be there before; not timed. */
  readonly tables: readonly (readonly [Words, Words])[];
  readonly rows: readonly (readonly [Words, Words])[];
  /** What they read their password from. */
  readonly env: { readonly [name: string]: string };
}

function mariadb(
  { host, port, user, password }: Server,
  folder: string,
  from: string,
  to: string,
): Copy {
  const file = join(folder, "peer.cnf");
  const lines = ["[client]", `host=${host}`, `port=${port}`, `user=${user}`];
  writeFileSync(file, [...lines, `password=${password}`, ""].join("\n"), { mode: 0o600 });
  const login = `--defaults-file=${file}`;
  const dump: Words = ["mariadb-dump", login, "--single-transaction", from];
  return { tables: [], rows: [[dump, ["mariadb", login, to]]], env: {} };
}

/** COPY from table to table, into tables with their indexes: pg_restore makes them afterwards. */
function postgres(
  { host, port, user, password }: Server,
  folder: string,
  from: string,
  to: string,
  tables: readonly string[],
): Copy {
  const file = join(folder, "peer.pgpass");
  writeFileSync(file, `${host}:${port}:*:${user}:${password}\n`, { mode: 0o600 });
  const login = ["-h", host, "-p", String(port), "-U", user, "-w"];
  const psql = (database: string, ...words: readonly string[]): Words => [
    "psql",
    ...login,
    "-q",
    "-v",
    "ON_ERROR_STOP=1",
    "-d",
    database,
    ...words,
  ];
  return {
    tables: [[["pg_dump", ...login, "--schema-only", from], psql(to)]],
    rows: tables.map((table) => [
      psql(from, "-c", `COPY ${table} TO STDOUT`),
      psql(to, "-c", `COPY ${table} FROM STDIN`),
    ]),
    env: { PGPASSFILE: file },
  };
}

/**
 * The peer: the server's own dump of a database (MariaDB) or COPY of its tables (PostgreSQL), piped
 * into its own client, into a new database on the same server. This is what moving the rows costs
 * when nothing is asked of them.
 *
 * @param tables with rows, parents first
 */
export async function dumpAndRestore(
  server: Server,
  folder: string,
  from: string,
  tables: readonly string[],
): Promise<Cost> {
  const to = `${from}_copy`;
  await server.newDatabase(to);
  const copy =
    server.engine === "mysql"
      ? mariadb(server, folder, from, to)
      : postgres(server, folder, from, to, tables);
  for (const [writer, reader] of copy.tables) await pipe(writer, reader, copy.env);
  const began = performance.now();
  for (const [writer, reader] of copy.rows) await pipe(writer, reader, copy.env);
  const seconds = (performance.now() - began) / 1000;
  await server.dropDatabase(to);
  return { seconds, cpu: null, rss: null };
}

async function pipe(
  [one, ...dump]: Words,
  [other, ...restore]: Words,
  more: Copy["env"],
): Promise<void> {
  const env = { ...process.env, ...more };
  const source = spawn(one, dump, { env, stdio: ["ignore", "pipe", "inherit"] });
  const sink = spawn(other, restore, { env, stdio: [source.stdout, "ignore", "inherit"] });
  await Promise.all([succeeded(source, one), succeeded(sink, other)]);
}

async function succeeded(child: ChildProcess, name: string): Promise<void> {
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`${name}: exit ${status}`);
}
