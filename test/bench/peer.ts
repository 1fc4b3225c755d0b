import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import type { Server } from "../lab/server.ts";
import type { Cost } from "./command.ts";
import { secondsOfChildren, secondsOfServer } from "./processor.ts";
import type { Ground } from "./road.ts";

/** What an engine's own tools take to move the same rows, when nothing is asked of them. */
export interface Peer extends Cost {
  readonly what: string;
}

type OptionValues = readonly [string, ...string[]];

type Pipe = readonly [OptionValues, OptionValues];

interface Tools {
  readonly dump: (database: string) => OptionValues;
  readonly restore: (database: string) => OptionValues;
  readonly env: { readonly [name: string]: string };
}

function mariadb({ host, port, user, password }: Server, folder: string): Tools {
  const file = join(folder, "peer.cnf");
  const lines = ["[client]", `host=${host}`, `port=${port}`, `user=${user}`];
  writeFileSync(file, [...lines, `password=${password}`, ""].join("\n"), { mode: 0o600 });
  const login = `--defaults-file=${file}`;
  return {
    dump: (database) => ["mariadb-dump", login, "--single-transaction", database],
    restore: (database) => ["mariadb", login, database],
    env: {},
  };
}

function postgres({ host, port, user, password }: Server, folder: string) {
  const file = join(folder, "peer.pgpass");
  writeFileSync(file, `${host}:${port}:*:${user}:${password}\n`, { mode: 0o600 });
  const login = ["-h", host, "-p", String(port), "-U", user, "-w"];
  const psql = (database: string): OptionValues => [
    ...(["psql", ...login, "-q", "-v", "ON_ERROR_STOP=1", "-d", database] as const),
  ];
  const dump = (...words: readonly string[]): OptionValues => ["pg_dump", ...login, ...words];
  return { psql, dump, env: { PGPASSFILE: file } };
}

/** Of Ironic's tables these have rows, parents first. */
const TABLES = ["nodes", "ports"];

/**
 * What the engine takes to copy the rows that were loaded: its own dump piped into its own client. Ratios
 * divide by it.
 */
export async function peer(ground: Ground): Promise<Peer> {
  switch (ground.engine) {
    case "mysql":
      return peerOfMariadb(ground, needed(ground.server));
    case "postgresql":
      return peerOfPostgres(ground, needed(ground.server));
    case "sqlite":
      return peerOfSqlite(ground);
  }
}

function needed(server: Server | null): Server {
  if (server === null) throw new Error("there is no server");
  return server;
}

async function peerOfMariadb(ground: Ground, server: Server): Promise<Peer> {
  const { dump, restore, env } = mariadb(server, ground.folder);
  const [from, to] = ["bench_ironic", "bench_copy"];
  return withCopy(server, to, () =>
    measured("mariadb-dump | mariadb", server, () => pipe([dump(from), restore(to)], env)),
  );
}

async function peerOfPostgres(ground: Ground, server: Server): Promise<Peer> {
  const { psql, dump, env } = postgres(server, ground.folder);
  const [from, to] = ["bench_ironic", "bench_copy"];
  const tables = TABLES.map((name) => `-t${name}`);
  const inserts = dump("--data-only", "--rows-per-insert=500", ...tables, from);
  return withCopy(server, to, async () => {
    await pipe([dump("--schema-only", from), psql(to)], env);
    return measured("pg_dump, 500 rows an INSERT | psql", server, () =>
      pipe([inserts, psql(to)], env),
    );
  });
}

function peerOfSqlite({ place }: Ground): Promise<Peer> {
  const dump = ["sqlite3", place("ironic").database, ".dump"] as const;
  const restore = ["sqlite3", place("copy").database] as const;
  return measured(".dump | sqlite3", null, () => pipe([dump, restore], {}));
}

async function withCopy<T>(server: Server, name: string, work: () => Promise<T>): Promise<T> {
  await server.newDatabase(name);
  return work().finally(() => server.dropDatabase(name));
}

async function measured(what: string, server: Server | null, work: () => Promise<void>) {
  const servers = (): number => (server === null ? 0 : secondsOfServer(server));
  const [began, before, children] = [performance.now(), servers(), secondsOfChildren()];
  await work();
  return {
    what,
    seconds: (performance.now() - began) / 1000,
    cpu: secondsOfChildren() - children,
    servers: server === null ? null : servers() - before,
    rss: null,
    load: loadavg()[0] ?? 0,
  };
}

async function pipe([[one, ...dump], [other, ...restore]]: Pipe, more: Tools["env"]) {
  const env = { ...process.env, ...more };
  const source = spawn(one, dump, { env, stdio: ["ignore", "pipe", "inherit"] });
  const sink = spawn(other, restore, { env, stdio: [source.stdout, "ignore", "inherit"] });
  await Promise.all([succeeded(source, one), succeeded(sink, other)]);
}

async function succeeded(child: ChildProcess, name: string): Promise<void> {
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`${name}: exit ${status}`);
}
