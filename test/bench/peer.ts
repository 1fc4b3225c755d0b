import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import type { Server } from "../lab/server.ts";
import type { Cost } from "./command.ts";
import { insertSelect } from "./limit.ts";
import { secondsOfChildren, secondsOfServer } from "./processor.ts";
import type { Ground } from "./road.ts";

/** What an engine's own tools take to move the same rows, when nothing is asked of them. */
export interface Peer extends Cost {
  readonly what: string;
}

/** A command and its arguments. */
type Words = readonly [string, ...string[]];

/** What writes, and what reads it. */
type Pipe = readonly [Words, Words];

/** How an engine's own tools copy a database. */
interface Tools {
  /** What writes a database, and what reads it into another one. */
  readonly dump: (database: string) => Words;
  readonly restore: (database: string) => Words;
  /** What they read their password from. */
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
  const psql = (database: string, ...words: readonly string[]): Words =>
    [
      ...["psql", ...login, "-q", "-v", "ON_ERROR_STOP=1", "-d", database, ...words],
    ] as unknown as Words;
  const dump = (database: string, ...words: readonly string[]): Words => [
    "pg_dump",
    ...login,
    ...words,
    database,
  ];
  return { psql, dump, env: { PGPASSFILE: file } };
}

/** Of Ironic's tables these have rows, parents first. */
const TABLES = ["nodes", "ports"];

/**
 * What the engine takes to copy the rows that were loaded: its own dump piped into its own client, the one that
 * ratios divide by, and what is faster still.
 */
export async function peers(ground: Ground): Promise<readonly Peer[]> {
  switch (ground.engine) {
    case "mysql":
      return peersOfMariadb(ground, needed(ground.server));
    case "postgresql":
      return peersOfPostgres(ground, needed(ground.server));
    case "sqlite":
      return peersOfSqlite(ground);
  }
}

function needed(server: Server | null): Server {
  if (server === null) throw new Error("there is no server");
  return server;
}

async function peersOfMariadb(ground: Ground, server: Server): Promise<readonly Peer[]> {
  const { dump, restore, env } = mariadb(server, ground.folder);
  const [from, to] = ["bench_ironic", "bench_copy"];
  return withCopy(server, to, async () => [
    await measured("mariadb-dump | mariadb", server, () => pipe([dump(from), restore(to)], env)),
    await limit(ground, server, "bench_nova_bm.", async () => {
      const db = [
        dump(from).toSpliced(-1, 0, "--no-data") as unknown as Words,
        restore(to),
      ] as const;
      await server.dropDatabase(to);
      await server.newDatabase(to);
      await pipe(db, env);
    }),
  ]);
}

async function peersOfPostgres(ground: Ground, server: Server): Promise<readonly Peer[]> {
  const { psql, dump, env } = postgres(server, ground.folder);
  const [from, to] = ["bench_ironic", "bench_copy"];
  const empty = async (): Promise<void> => {
    await server.dropDatabase(to);
    await server.newDatabase(to);
    await pipe([dump(from, "--schema-only"), psql(to)], env);
  };
  const inserts = dump(
    from,
    "--data-only",
    "--rows-per-insert=500",
    ...TABLES.map((t) => `-t${t}`),
  );
  return withCopy(server, to, async () => {
    await empty();
    const first = await measured("pg_dump, 500 rows an INSERT | psql", server, () =>
      pipe([inserts, psql(to)], env),
    );
    await empty();
    const second = await measured("COPY | COPY", server, async () => {
      for (const table of TABLES) {
        const copy = [
          psql(from, "-c", `COPY ${table} TO STDOUT`),
          psql(to, "-c", `COPY ${table} FROM STDIN`),
        ] as const;
        await pipe(copy, env);
      }
    });
    await empty();
    // A statement of PostgreSQL's sees one database.
    await pipe([dump("bench_nova_bm"), psql(to)], env);
    return [first, second, await limit(ground, server, "", async () => {})];
  });
}

async function peersOfSqlite(ground: Ground): Promise<readonly Peer[]> {
  const file = (name: string): string => ground.place(name).database;
  const first = await measured(".dump | sqlite3", null, () =>
    pipe(
      [
        ["sqlite3", file("ironic"), ".dump"],
        ["sqlite3", file("copy")],
      ],
      {},
    ),
  );
  const schema = (): Promise<void> =>
    pipe(
      [
        ["sqlite3", file("ironic"), ".schema --nosys"],
        ["sqlite3", file("limit")],
      ],
      {},
    );
  await schema();
  const began = process.cpuUsage();
  const last = await measured(LIMIT, null, () => insertSelect(ground, "limit", "nova_bm."));
  const { user, system } = process.cpuUsage(began);
  return [first, { ...last, cpu: (user + system) / 1e6 }];
}

const LIMIT = "limit: INSERT..SELECT, JSON by SQL";

async function limit(
  ground: Ground,
  server: Server,
  from: string,
  ready: () => Promise<void>,
): Promise<Peer> {
  await ready();
  return measured(LIMIT, server, () => insertSelect(ground, "copy", from));
}

async function withCopy<T>(server: Server, name: string, work: () => Promise<T>): Promise<T> {
  await server.newDatabase(name);
  return work().finally(() => server.dropDatabase(name));
}

async function measured(
  what: string,
  server: Server | null,
  work: () => Promise<void>,
): Promise<Peer> {
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

async function pipe(
  [[one, ...dump], [other, ...restore]]: Pipe,
  more: Tools["env"],
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
