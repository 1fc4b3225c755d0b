import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../../src/lib/error.ts";
import { takeLock } from "../../../src/lib/files/lock-file.ts";
import { needsProgram, SERVERS } from "../binaries.ts";
import type { Owner } from "../folder.ts";
import type { Server } from "../server.ts";

/** How a service's own program makes its tables. */
interface Schema {
  /** Names service and version. */
  readonly key: string;
  readonly make: () => Promise<void>;
}

/**
 * Makes databases by a service's own program, where the server's data has them not yet, and keeps what it made for a
 * server to come (`makeSeed`).
 * @param kept a folder of the caller's for what is kept; without one nothing is
 */
export async function withSchema(
  server: Server,
  databases: readonly string[],
  { kept, key, make }: Schema & { readonly kept: string | undefined },
): Promise<void> {
  const [first = ""] = databases;
  if (kept !== undefined && (await server.hasDatabase(first))) return;
  // As operators made them for long.
  for (const name of databases) await server.newDatabase(name, "utf8mb3");
  await make();
  if (kept === undefined) return;
  mkdirSync(kept, { recursive: true });
  await dump(server, databases, join(kept, `${key}.sql`));
}

/**
 * Fills new databases with a service's tables. A run of tests lets its program make them once: all
 * databases to come are filled with what that one dumped.
 */
export async function onceMade(
  server: Server,
  databases: readonly string[],
  { key, make }: Schema,
): Promise<void> {
  const folder = process.env.N2I_SCHEMAS;
  if (folder === undefined) return make();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { dumpOne, load } = CLIENTS[server.engine];
  const files = databases.map((name, at) => ({
    name,
    file: join(folder, `${key}-${server.engine}-${at}.sql`),
  }));
  const made = await oneAtATime(join(folder, `${key}-${server.engine}.lock`), async () => {
    if (files.every(({ file }) => existsSync(file))) return false;
    await make();
    for (const { name, file } of files) await write(server, [dumpOne(name)], file);
    return true;
  });
  if (!made) for (const { name, file } of files) await read(server, load(name), file);
}

const PACE_MS = 100;

/** Waits until no other process works under this lock; one that died holds it no longer. */
async function oneAtATime<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const release = await takeLock(lock, "make a schema").catch((cause: unknown) => {
    if (cause instanceof MigrationError && cause.code === "N2I-E302") return null;
    throw cause;
  });
  if (release === null) {
    await sleep(PACE_MS);
    return oneAtATime(lock, work);
  }
  return work().finally(release);
}

/** How each engine's own clients write databases, and bring them back. */
export const CLIENTS = {
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
    dumpOne: (name: string) => ["mariadb-dump", "--single-transaction", name],
    load: (name: string) => ["mariadb", name],
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
    dumpOne: (name: string) => [
      ...["pg_dump", "--no-owner", "--no-privileges", `--dbname=${name}`],
    ],
    load: (name: string) => [
      ...["psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", `--dbname=${name}`],
    ],
  },
} as const;

/** Writes databases, as they are, to a file that only we can read. */
export async function dump(server: Server, databases: readonly string[], file: string) {
  await write(server, CLIENTS[server.engine].dump(databases), file);
}

async function write(server: Server, commands: readonly (readonly string[])[], file: string) {
  const half = `${file}.${process.pid}`;
  let flags = "w";
  for (const words of commands) {
    const child = client(server, words);
    const written = pipeline(child.stdout, createWriteStream(half, { mode: 0o600, flags }));
    await Promise.all([succeeded(child, words[0] ?? ""), written]);
    flags = "a";
  }
  renameSync(half, file);
}

/** Brings databases back as `dump` wrote them, whatever became of them since. */
export async function restore(server: Server, file: string): Promise<void> {
  const { home } = SERVERS[server.engine];
  await read(server, CLIENTS[server.engine].load(home), file);
}

async function read(server: Server, words: readonly string[], file: string): Promise<void> {
  const child = client(server, words);
  child.stdout.resume();
  // Of one that ends early its own words say why, not that it reads no more.
  const given = pipeline(createReadStream(file), child.stdin).catch((cause: Error) => cause);
  await succeeded(child, words[0] ?? "");
  const cause = await given;
  if (cause !== undefined) throw cause;
}

/** Runs a program as a service's user; its output when it succeeds. */
export async function runAs(user: Owner, cwd: string, [program = "", ...words]: readonly string[]) {
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

function client(server: Server, [name = "", ...words]: readonly string[]) {
  const { at, secret, ...by } = CLIENTS[server.engine];
  return spawn(needsProgram(name, by), [...at(server), ...words], {
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
