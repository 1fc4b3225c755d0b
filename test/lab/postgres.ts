import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { again, type Restartable, startAgain } from "./again.ts";
import { type Binaries, binaries } from "./binaries.ts";
import { freePort, startDaemon } from "./daemon.ts";
import { type Kept, owner, privateFile, privateFolder } from "./folder.ts";
import { newPassword } from "./server.ts";
import { ready } from "./start.ts";

/**
 * Starts a PostgreSQL of our own: a new cluster, loopback only, an unprivileged user, passwords asked for on every way
 * in.
 * @param kept in memory for tests, none of which ends the server's machine
 * @param seed a cluster to begin with, in place of none
 * @throws Error when it is not installed, or does not start
 */
export async function startPostgres(kept: Kept, seed?: string): Promise<Restartable> {
  const found = binaries("postgresql");
  const user = owner("postgres");
  const port = await freePort();
  // From here to the daemon nothing waits: a signal in between would leave the folder behind.
  const folder = privateFolder("n2i-postgres-", user, kept);
  const data = join(folder, "data");
  const password = newPassword();
  const secret = join(folder, "secret");
  const copied = seed !== undefined && spawnSync("cp", ["-a", seed, data]).status === 0;
  privateFile(secret, copied ? `ALTER ROLE lab PASSWORD '${password}'\n` : `${password}\n`, user);
  const daemon = startDaemon(
    copied ? renew(found, data, secret) : init(found, data, secret),
    again([found.server, ...options(data, folder, port, kept)]),
    // "Immediate": the data is thrown away when it ends.
    { folder, signal: "QUIT", owner: user },
  );
  const at = { host: "127.0.0.1", port, socket: folder, user: "lab", password } as const;
  const server = await ready({ engine: "postgresql", ...at }, daemon);
  rmSync(secret);
  const restart = async (): Promise<void> => {
    // "Fast", as a service manager stops it.
    await startAgain(folder, user, "SIGINT");
    await ready({ engine: "postgresql", ...at }, daemon);
  };
  return { ...server, restart };
}

/** Makes a cluster whose superuser has the password of this file. */
function init({ init: program }: Binaries, data: string, password: string): readonly string[] {
  return [
    ...[program, "-D", data, "-U", "lab", `--pwfile=${password}`, "-A", "scram-sha-256"],
    ...["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
  ];
}

/** Gives the superuser of a copied cluster, which nobody serves yet, the password that this statement sets. */
function renew({ server }: Binaries, data: string, statement: string): readonly string[] {
  return ["sh", "-c", 'exec "$0" --single -F -D "$1" postgres <"$2"', server, data, statement];
}

function options(data: string, socket: string, port: number, kept: Kept): readonly string[] {
  const synced = kept === "on disk" ? "on" : "off";
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: socket,
    max_connections: "200",
    // A client that gives up while it logs in holds up every DROP DATABASE for this long.
    authentication_timeout: "5s",
    fsync: synced,
    full_page_writes: synced,
    // Commits still wait for a standby where a test sets one.
    synchronous_commit: "on",
  };
  return ["-D", data, ...Object.entries(settings).flatMap(([name, v]) => ["-c", `${name}=${v}`])];
}
