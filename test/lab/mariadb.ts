import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { again, type Restartable, startAgain } from "./again.ts";
import { binaries } from "./binaries.ts";
import { freePort, startDaemon } from "./daemon.ts";
import { type Kept, owner, privateFile, privateFolder } from "./folder.ts";
import { newPassword } from "./server.ts";
import { ready } from "./start.ts";

/**
 * Starts a MariaDB of our own: a new data folder, loopback only, an unprivileged user, nothing of the system's
 * configuration.
 * @param kept in memory for tests, none of which ends the server's machine
 * @param seed data to begin with, in place of none
 * @throws Error when it is not installed, or does not start
 */
export async function startMariadb(kept: Kept, seed?: string): Promise<Restartable> {
  const found = binaries("mysql");
  const user = owner("mysql");
  const port = await freePort();
  // From here to the daemon nothing waits: a signal in between would leave the folder behind.
  const folder = privateFolder("n2i-mariadb-", user, kept);
  const data = join(folder, "data");
  const password = newPassword();
  const accounts = join(folder, "accounts.sql");
  privateFile(accounts, onlyAccount("lab", password), user);
  const socket = join(folder, "socket");
  const copied = seed !== undefined && spawnSync("cp", ["-a", seed, data]).status === 0;
  const make = ["--no-defaults", `--datadir=${data}`, "--skip-test-db", "--skip-name-resolve"];
  const daemon = startDaemon(
    copied ? ["true"] : [found.init, ...make],
    // Accounts are made once.
    again([found.server, ...options({ data, socket, port, accounts }, kept)], "--init-file="),
    { folder, signal: "TERM", owner: user },
  );
  const at = { engine: "mysql", host: "127.0.0.1", port, socket, user: "lab", password } as const;
  const server = await ready(at, daemon);
  rmSync(accounts);
  const restart = async (): Promise<void> => {
    await startAgain(folder, user, "SIGTERM");
    await ready(at, daemon);
  };
  return { ...server, restart };
}

/** Run by the server before it takes the first connection; each statement is one line. */
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
  "--innodb-flush-log-at-trx-commit=0",
  "--innodb-flush-method=nosync",
  "--skip-innodb-doublewrite",
  "--skip-sync-frm",
];

export function options(
  at: {
    readonly data: string;
    readonly socket: string;
    readonly port: number;
    readonly accounts: string;
  },
  kept: Kept,
): readonly string[] {
  return [
    "--no-defaults",
    `--datadir=${at.data}`,
    // A server that starts removes whatever #sql files its tmpdir has: those of others that share it, too.
    `--tmpdir=${at.data}`,
    `--socket=${at.socket}`,
    `--pid-file=${at.data}/pid`,
    "--bind-address=127.0.0.1",
    `--port=${at.port}`,
    `--init-file=${at.accounts}`,
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
