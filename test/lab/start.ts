import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { binaries, SERVERS, type ServerEngine } from "./binaries.ts";
import { connect } from "./connect.ts";
import { type Daemon, freePort, startDaemon } from "./daemon.ts";
import { type Kept, owner, privateFile, privateFolder } from "./folder.ts";
import { type Coordinates, newPassword, type Server, serverAt } from "./server.ts";

export interface Restartable extends Server {
  /** Stops it and starts it again with the same data. All connections are lost. */
  readonly restart: () => Promise<void>;
}

interface Place {
  readonly data: string;
  readonly folder: string;
  readonly port: number;
  /** A file that the start reads. It is removed when the server is ready. */
  readonly secret: string;
}

/** How an engine creates its data folder and starts. */
const HOW = {
  mysql: {
    ...({ user: "mysql", signal: "TERM", again: "SIGTERM" } as const),
    socket: ({ folder }: Place) => join(folder, "socket"),
    // Accounts are made once.
    later: "--init-file=",
    secret: (password: string) => onlyAccount("lab", password),
    init: ({ data }: Place) => [
      ...["--no-defaults", `--datadir=${data}`, "--skip-test-db", "--skip-name-resolve"],
    ],
    options: mariadbOptions,
    renew: () => ["true"],
  },
  postgresql: {
    // At the end it stops at once ("immediate"), because its data is deleted. A restart stops it as a service manager does ("fast").
    ...({ user: "postgres", signal: "QUIT", again: "SIGINT" } as const),
    socket: ({ folder }: Place) => folder,
    later: "",
    secret: (password: string, copied: boolean) =>
      copied ? `ALTER ROLE lab PASSWORD '${password}'\n` : `${password}\n`,
    // The superuser has the password of this file.
    init: ({ data, secret }: Place) => [
      ...["-D", data, "-U", "lab", `--pwfile=${secret}`, "-A", "scram-sha-256"],
      ...["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
    ],
    options: postgresOptions,
    // Sets the superuser's password in a copied cluster before the server starts.
    renew: ({ data, secret }: Place, server: string) => [
      ...["sh", "-c", 'exec "$0" --single -F -D "$1" postgres <"$2"', server, data, secret],
    ],
  },
} as const;

/**
 * Starts a private server: new data, loopback only, an unprivileged user, a password for every connection, and nothing
 * of the system's configuration.
 * @param kept in memory for tests, because no test needs the data after a crash of the machine
 * @param seed a data folder to start with
 * @throws Error if it is not installed or does not start
 */
async function startServer(engine: ServerEngine, kept: Kept, seed?: string): Promise<Restartable> {
  const { server, init } = binaries(engine);
  const how = HOW[engine];
  const user = owner(how.user);
  const port = await freePort();
  // No await until the daemon runs, because a signal in between would leave the folder behind.
  const folder = privateFolder(`n2i-${how.user}-`, user, kept);
  const [data, secret] = [join(folder, "data"), join(folder, "secret")];
  const place = { folder, data, secret, port };
  const password = newPassword();
  const copied = seed !== undefined && spawnSync("cp", ["-a", seed, data]).status === 0;
  privateFile(secret, how.secret(password, copied), user);
  const daemon = startDaemon(
    copied ? how.renew(place, server) : [init, ...how.init(place)],
    ["sh", "-c", AGAIN, "sh", how.later, server, ...how.options(place, kept)],
    { folder, signal: how.signal, owner: user },
  );
  const at = { engine, host: "127.0.0.1", port, socket: how.socket(place), user: "lab", password };
  const started = await ready(at, daemon);
  rmSync(secret);
  const restart = async (): Promise<void> => {
    const told = join(folder, "again");
    privateFile(told, "", user);
    process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), how.again);
    while (existsSync(told)) await sleep(20);
    await ready(at, daemon);
  };
  return { ...started, restart };
}

export const startMariadb = (kept: Kept, seed?: string) => startServer("mysql", kept, seed);
export const startPostgres = (kept: Kept, seed?: string) => startServer("postgresql", kept, seed);

/**
 * Runs a command in its folder. If the file `again` exists when the command ends, it starts the command again. The first
 * argument, if not empty, is added to the command from the second start on.
 */
const AGAIN = `
trap 'ending=yes' TERM
later=$1
shift
while [ -z "$ending" ]; do
  "$@" & echo $! >pid
  while kill -0 $! 2>/dev/null; do wait $!; done
  [ -e again ] || { [ -n "$ending" ]; exit; }
  [ -z "$later" ] || set -- "$@" "$later"
  rm again
done`;

/** The slowest machine needs seconds for making the data folder and starting. */
const PATIENCE_MS = 120_000;

/** Waits until a server that was just started answers its superuser. */
export async function ready(at: Coordinates, daemon: Daemon): Promise<Server> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const cause = await refusal(at);
    if (cause === null) return serverAt(at, daemon.stop);
    if (!daemon.running() || Date.now() > until) {
      await daemon.stop();
      throw new Error(`${SERVERS[at.engine].title} did not start\n${daemon.lastWords()}`, {
        cause,
      });
    }
    await sleep(50);
  }
}

async function refusal(at: Coordinates): Promise<unknown> {
  const db = connect({ ...at, database: SERVERS[at.engine].home });
  try {
    await db.raw("SELECT 1");
    return null;
  } catch (cause) {
    return cause;
  } finally {
    await db.destroy();
  }
}

/** Run by MariaDB before it takes the first connection; each statement is one line. */
export function onlyAccount(user: string, password: string): string {
  return [
    "FLUSH PRIVILEGES;",
    "DELETE FROM mysql.global_priv WHERE User IN ('', 'root', 'mysql', 'nobody');",
    "FLUSH PRIVILEGES;",
    ...["127.0.0.1", "localhost"].flatMap((host) => [
      `CREATE USER '${user}'@'${host}' IDENTIFIED BY '${password}';`,
      `GRANT ALL ON *.* TO '${user}'@'${host}' WITH GRANT OPTION;`,
    ]),
    "",
  ].join("\n");
}

const UNSYNCED = [
  ...["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"],
  ...["--skip-innodb-doublewrite", "--skip-sync-frm"],
];

export function mariadbOptions({ folder, data, port, secret }: Place, kept: Kept) {
  return [
    "--no-defaults",
    `--datadir=${data}`,
    // A server that starts removes whatever #sql files its tmpdir has: those of others that share it, too.
    `--tmpdir=${data}`,
    `--socket=${join(folder, "socket")}`,
    `--pid-file=${data}/pid`,
    "--bind-address=127.0.0.1",
    `--port=${port}`,
    `--init-file=${secret}`,
    "--skip-name-resolve",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    "--max-connections=200",
    "--innodb-buffer-pool-size=128M",
    ...(kept === "on disk" ? ["--innodb-flush-log-at-trx-commit=1"] : UNSYNCED),
    // The data is thrown away when it ends: no need to leave it tidy.
    "--innodb-fast-shutdown=2",
  ];
}

function postgresOptions({ data, folder, port }: Place, kept: Kept) {
  const synced = kept === "on disk" ? "on" : "off";
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: folder,
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
