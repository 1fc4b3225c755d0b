import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "../lab/server.ts";
import type { Cost } from "./command.ts";

/** Two programs, the second fed by the first, and what they read their password from. */
interface Pipe {
  readonly dump: readonly [string, ...string[]];
  readonly restore: readonly [string, ...string[]];
  readonly env: { readonly [name: string]: string };
}

function pipeOf(server: Server, folder: string, from: string, to: string): Pipe {
  const { host, user, password } = server;
  const port = String(server.port);
  if (server.engine === "mysql") {
    const file = join(folder, "peer.cnf");
    const lines = ["[client]", `host=${host}`, `port=${port}`, `user=${user}`];
    writeFileSync(file, [...lines, `password=${password}`, ""].join("\n"), { mode: 0o600 });
    const login = `--defaults-file=${file}`;
    return {
      dump: ["mariadb-dump", login, "--single-transaction", from],
      restore: ["mariadb", login, to],
      env: {},
    };
  }
  const file = join(folder, "peer.pgpass");
  writeFileSync(file, `${host}:${port}:*:${user}:${password}\n`, { mode: 0o600 });
  const login = ["-h", host, "-p", port, "-U", user, "-w"];
  return {
    dump: ["pg_dump", ...login, from],
    restore: ["psql", ...login, "-q", "-v", "ON_ERROR_STOP=1", "-d", to],
    env: { PGPASSFILE: file },
  };
}

/**
 * The peer: the server's own dump of a database, piped into its own client, into a new database on
 * the same server. This is what moving the rows costs when nothing is asked of them.
 */
export async function dumpAndRestore(server: Server, folder: string, from: string): Promise<Cost> {
  const to = `${from}_copy`;
  await server.newDatabase(to);
  const { dump, restore, env } = pipeOf(server, folder, from, to);
  const began = performance.now();
  const [one, ...dumpWords] = dump;
  const [other, ...restoreWords] = restore;
  const source = spawn(one, dumpWords, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const sink = spawn(other, restoreWords, {
    env: { ...process.env, ...env },
    stdio: [source.stdout, "ignore", "inherit"],
  });
  await Promise.all([succeeded(source, one), succeeded(sink, other)]);
  const seconds = (performance.now() - began) / 1000;
  await server.dropDatabase(to);
  return { seconds, cpu: null, rss: null };
}

async function succeeded(child: ChildProcess, name: string): Promise<void> {
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`${name}: exit ${status}`);
}
