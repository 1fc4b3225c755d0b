import { rmSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "./binaries.ts";
import { freePort, startDaemon } from "./daemon.ts";
import { type Kept, owner, privateFile, privateFolder } from "./folder.ts";
import { newPassword, type Server } from "./server.ts";
import { missing, ready } from "./start.ts";

/**
 * Starts a PostgreSQL of our own: a new cluster, loopback only, an unprivileged user, passwords
 * asked for on every way in.
 *
 * @param kept in memory for tests, none of which ends the server's machine
 * @throws Error when it is not installed and cannot be, or does not start
 */
export async function startPostgres(kept: Kept): Promise<Server> {
  const found = binaries("postgresql");
  if (found === null) throw missing("postgresql");
  const user = owner("postgres");
  const port = await freePort();
  // From here to the daemon nothing waits: a signal in between would leave the folder behind.
  const folder = privateFolder("n2i-postgres-", user, kept);
  const data = join(folder, "data");
  const password = newPassword();
  const passwordFile = join(folder, "password");
  privateFile(passwordFile, `${password}\n`, user);
  const daemon = startDaemon(
    [
      ...[found.init, "-D", data, "-U", "lab", `--pwfile=${passwordFile}`, "-A", "scram-sha-256"],
      ...["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
    ],
    [found.server, ...options(data, folder, port, kept)],
    // "Immediate": the data is thrown away when it ends.
    { folder, signal: "QUIT", owner: user },
  );
  const server = await ready(
    { engine: "postgresql", host: "127.0.0.1", port, socket: folder, user: "lab", password },
    daemon,
  );
  rmSync(passwordFile);
  return server;
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
