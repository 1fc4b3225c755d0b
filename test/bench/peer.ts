import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { loadavg } from "node:os";
import { CLIENTS } from "../lab/cloud/schema.ts";
import type { Server } from "../lab/server.ts";
import type { Cost } from "./command.ts";
import { secondsOfChildren, secondsOfServer } from "./processor.ts";
import type { Ground } from "./road.ts";

/** What an engine's own tools take to move the same rows, when nothing is asked of them. */
export type Peer = Cost & { readonly stage: string };

type Words = readonly [string, ...string[]];

/** Of Ironic's tables these have rows, parents first. */
const TABLES = ["nodes", "ports"];
const [FROM, COPY] = ["bench_ironic", "bench_copy"] as const;

/**
 * What the engine takes to copy the rows that were loaded: its own dump piped into its own client. Ratios
 * divide by it.
 */
export async function peer({ server, place }: Ground): Promise<Peer> {
  if (server === null) {
    const dump = ["sqlite3", place("ironic").database, ".dump"] as const;
    const restore = ["sqlite3", place("copy").database] as const;
    return measured(".dump | sqlite3", null, () => pipe([dump, restore], {}));
  }
  await server.newDatabase(COPY);
  try {
    if (server.engine === "mysql")
      return await measured("mariadb-dump | mariadb", server, () =>
        pipeOf(server, ["mariadb-dump", "--single-transaction", FROM]),
      );
    const tables = TABLES.map((name) => `-t${name}`);
    const inserts = ["pg_dump", "--data-only", "--rows-per-insert=500", ...tables, FROM] as const;
    await pipeOf(server, ["pg_dump", "--schema-only", FROM]);
    return await measured("pg_dump, 500 rows an INSERT | psql", server, () =>
      pipeOf(server, inserts),
    );
  } finally {
    await server.dropDatabase(COPY);
  }
}

/** Pipes a dump of the server's into its copy. */
function pipeOf(server: Server, [program, ...words]: Words): Promise<void> {
  const { at, load, secret } = CLIENTS[server.engine];
  const login = at(server);
  const [client = "", ...own] = load(COPY);
  const env = { [secret]: server.password };
  return pipe(
    [
      [program, ...login, ...words],
      [client, ...login, ...own],
    ],
    env,
  );
}

async function measured(stage: string, server: Server | null, work: () => Promise<void>) {
  const servers = (): number => (server === null ? 0 : secondsOfServer(server));
  const [began, before, children] = [performance.now(), servers(), secondsOfChildren()];
  await work();
  return {
    stage,
    seconds: (performance.now() - began) / 1000,
    cpu: secondsOfChildren() - children,
    servers: server === null ? null : servers() - before,
    rss: null,
    load: loadavg()[0] ?? 0,
  };
}

async function pipe([[one, ...dump], [other, ...restore]]: readonly [Words, Words], more: object) {
  const env = { ...process.env, ...more };
  const source = spawn(one, dump, { env, stdio: ["ignore", "pipe", "inherit"] });
  const sink = spawn(other, restore, { env, stdio: [source.stdout, "ignore", "inherit"] });
  await Promise.all([succeeded(source, one), succeeded(sink, other)]);
}

async function succeeded(child: ChildProcess, name: string): Promise<void> {
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`${name}: exit ${status}`);
}
