import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { install, locate } from "../binaries.ts";
import type { Owner } from "../folder.ts";
import type { Server } from "../server.ts";

/**
 * Makes databases by a service's own program, where the server's data has them not yet, and keeps
 * what it made for a server to come (`seeded`).
 *
 * @param kept a folder of the caller's for what is kept
 * @param key names service and version
 */
export async function withSchema(
  server: Server,
  databases: readonly string[],
  { kept, key, make }: { readonly kept: string; readonly key: string; make(): Promise<void> },
): Promise<void> {
  const [first = ""] = databases;
  if (await server.hasDatabase(first)) return;
  for (const name of databases) await server.newDatabase(name, "utf8mb3");
  await make();
  mkdirSync(kept, { recursive: true });
  await dump(server, databases, join(kept, `${key}.sql`));
}

/** How each engine's own clients write databases, and bring them back. */
const CLIENTS = {
  mysql: {
    title: "MariaDB's clients",
    packages: ["mariadb-client"],
    secret: "MYSQL_PWD",
    at: ({ host, port, user }: Server) => [
      ...["--no-defaults", `--host=${host}`, `--port=${port}`, `--user=${user}`],
    ],
    dump: (databases: readonly string[]) => [
      ["mariadb-dump", "--single-transaction", "--add-drop-database", "--databases", ...databases],
    ],
    load: ["mariadb"],
  },
  postgresql: {
    title: "PostgreSQL's clients",
    packages: ["postgresql-client"],
    secret: "PGPASSWORD",
    at: ({ host, port, user }: Server) => [
      `--host=${host}`,
      `--port=${port}`,
      `--username=${user}`,
    ],
    dump: (databases: readonly string[]) =>
      databases.map((name) => [
        ...["pg_dump", "--create", "--clean", "--if-exists", "--no-owner", "--no-privileges"],
        `--dbname=${name}`,
      ]),
    load: ["psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname=postgres"],
  },
} as const;

/** Writes databases, as they are, to a file that only we can read. */
export async function dump(
  server: Server,
  databases: readonly string[],
  file: string,
): Promise<void> {
  const half = `${file}.${process.pid}`;
  let flags = "w";
  for (const words of CLIENTS[server.engine].dump(databases)) {
    const child = client(server, words);
    const ended = succeeded(child, words[0] ?? "");
    await pipeline(child.stdout, createWriteStream(half, { mode: 0o600, flags }));
    await ended;
    flags = "a";
  }
  renameSync(half, file);
}

/** Brings databases back as `dump` wrote them, whatever became of them since. */
export async function restore(server: Server, file: string): Promise<void> {
  const words = CLIENTS[server.engine].load;
  const child = client(server, words);
  const ended = succeeded(child, words[0]);
  child.stdout.resume();
  await pipeline(createReadStream(file), child.stdin);
  await ended;
}

/** Runs a program as a service's user; its output when it succeeds. */
export async function runAs(
  user: Owner,
  cwd: string,
  [program = "", ...words]: readonly string[],
): Promise<string> {
  const child = spawn(program, words, {
    ...user,
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, LC_ALL: "C.UTF-8", TZ: "UTC" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stdin.end();
  await succeeded(child, `${program} ${words.join(" ")}`);
  return said;
}

/** A client that is not there is installed first, where that is possible. */
function client(server: Server, [name = "", ...words]: readonly string[]) {
  const { at, secret, ...by } = CLIENTS[server.engine];
  const program = locate(name) ?? (install(by) && locate(name));
  if (!program) throw new Error(`${name} is missing: apt-get install ${by.packages.join(" ")}`);
  return spawn(program, [...at(server), ...words], {
    env: { PATH: process.env.PATH, [secret]: server.password },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

async function succeeded(child: ReturnType<typeof client>, what: string): Promise<void> {
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words += text;
  });
  const [status] = await once(child, "close");
  if (status !== 0) throw new Error(`${what} ended with ${status}\n${words.slice(-4000)}`);
}
