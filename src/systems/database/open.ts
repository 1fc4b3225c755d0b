import { createRequire } from "node:module";
import type { Knex, knex as knexFactory } from "knex";
import { MigrationError } from "../../lib/error.ts";
import type { DatabaseAddress, DatabaseLocation, Engine } from "../../model/database.ts";
import { type DatabaseTimeout, encryption, hangUp, knexConfig } from "./connection.ts";
import {
  isContended,
  isOfCluster,
  isOfEncryption,
  isUnknownName,
  onConnection,
  proveSession,
  refusedLogin,
  translate,
} from "./errors.ts";
import { select } from "./rows.ts";

const require = createRequire(import.meta.url);

/** An open database. Every call that may fail uses `run`, which converts errors. */
export interface Database {
  readonly engine: Engine;
  readonly label: string;
  readonly address: DatabaseAddress;
  readonly knex: Knex;
  readonly clear: boolean;
  /** For a copy: the original database. */
  readonly originalOf?: DatabaseLocation;
  readonly readOnly: boolean;
  /** The server or its settings are read-only, so the administrator does not want writes. */
  readonly frozen: boolean;
  /** Milliseconds to wait for a lock, below the statement timeout. */
  readonly lockWait: number;
  /** @throws MigrationError instead of the driver's error */
  readonly run: <T>(doing: string, work: () => PromiseLike<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

/**
 * MySQL and MariaDB 5.5 have no read-only transactions and skip the version comment. There only the
 * user's privileges protect the source.
 */
export function mysqlMode(mode: "READ ONLY" | "READ WRITE"): string {
  return `SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ /*!50605 , ${mode} */`;
}

/** Settings that end idle PostgreSQL sessions. Older servers lack some of them. */
const IDLE = "'idle_in_transaction_session_timeout','idle_session_timeout','transaction_timeout'";

/**
 * Finds read-only servers by their configuration, because a replica lets privileged users write.
 */
const FROZEN: { readonly [engine in Engine]: string | null } = {
  mysql:
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('tx_read_only', 'transaction_read_only', 'read_only', 'super_read_only') AND Value <> 'OFF'",
  postgresql:
    "SELECT 1 FROM pg_settings WHERE name = 'default_transaction_read_only' AND reset_val = 'on'",
  sqlite: null,
};

/**
 * Settings of every connection: strict mode, UTC, and read-only until `writing` starts. Settings of
 * the server, database or user could change results, written values or the snapshot, or end the
 * connection that holds the lock.
 */
const SESSION: { readonly [engine in Engine]: readonly string[] } = {
  mysql: [
    "SET SESSION autocommit=1",
    "SET NAMES utf8mb4",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION sql_mode='TRADITIONAL', time_zone='+00:00', SESSION lock_wait_timeout=60, innodb_lock_wait_timeout=60",
    "SET SESSION completion_type=0, unique_checks=1, foreign_key_checks=1, sql_safe_updates=0, sql_select_limit=18446744073709551615",
    "SET SESSION wait_timeout=28800 /*M!100300 , SESSION idle_transaction_timeout=0 */",
    mysqlMode("READ ONLY"),
  ],
  postgresql: [
    "SET TIME ZONE 'UTC'",
    "SET lock_timeout='60s'",
    "SET client_encoding='UTF8'; SET datestyle='ISO, MDY'; SET bytea_output='hex'; SET array_nulls=on; SET standard_conforming_strings=on",
    `SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN (${IDLE})`,
    // The server detects a lost client within two minutes instead of two hours.
    `SELECT set_config(name, CASE name WHEN 'tcp_keepalives_idle' THEN '60' ELSE '10' END, false) FROM pg_settings WHERE name IN ('tcp_keepalives_idle','tcp_keepalives_interval','tcp_keepalives_count') AND inet_client_addr() IS NOT NULL`,
    "SET default_transaction_isolation='read committed'",
    "SET default_transaction_read_only=on",
  ],
  sqlite: ["PRAGMA busy_timeout=20000", "PRAGMA foreign_keys=ON", "PRAGMA query_only=ON"],
};

/** A Galera node applies earlier commits first, so a row in replication does not seem deleted. */
const SYNCED = "SET SESSION wsrep_sync_wait=15";

/** Last setting of a connection whose statements are autocommitted writes. */
const AUTOCOMMIT: { readonly [engine in Engine]: string } = {
  mysql: mysqlMode("READ WRITE"),
  postgresql: "SET default_transaction_read_only=off",
  sqlite: "PRAGMA query_only=OFF",
};

async function prepare(
  { engine, label }: DatabaseAddress,
  connection: unknown,
  autocommit: boolean,
): Promise<void> {
  await proveSession(engine, connection, label);
  const last = autocommit ? [AUTOCOMMIT[engine]] : [];
  for (const sql of [...SESSION[engine], ...last]) await onConnection(engine, connection, sql);
  if (engine !== "mysql") return;
  await onConnection(engine, connection, SYNCED).catch((error: unknown) => {
    if (!isUnknownName(error)) throw error;
  });
}

/**
 * A Galera node without its cluster reports a lock timeout (wsrep_sync_wait), even for its own
 * status.
 *
 * @returns the error of other statements in that state, or null if it is not the cause
 */
async function lostCluster(engine: Engine, knex: Knex, error: unknown): Promise<unknown> {
  if (engine !== "mysql" || !isContended(error)) return null;
  const status: unknown = await knex
    .raw("SHOW STATUS LIKE 'wsrep_cluster_status'")
    .catch((cause: unknown) => cause);
  const isLost = isOfCluster(status) || /non-primary/i.test(JSON.stringify(status));
  return isLost ? Object.assign(new Error(), { code: "ER_UNKNOWN_COM_ERROR" }) : null;
}

/** Milliseconds that `close` waits before it cuts connections. */
const GRACE = 1000;

/**
 * If the mode permits both, retries with or without TLS.
 *
 * @param options.readOnly makes the server refuse writes
 * @throws MigrationError N2I-E200, N2I-E201, N2I-E202, N2I-E216, N2I-E224
 */
export async function openDatabase(address: DatabaseAddress, options: Options): Promise<Database> {
  const [first, ...fallbacks] = encryption(address);
  for (let encrypted = first; ; ) {
    const database = connect(address, options, encrypted);
    try {
      await database.knex.raw("SELECT 1");
      const sql = options.readOnly ? null : FROZEN[address.engine];
      const rows = sql === null ? [] : await select(database, sql);
      if (rows.length > 0 && options.autocommit === true) throw readOnlyServer(address.label);
      return { ...database, frozen: rows.length > 0 };
    } catch (cause) {
      const error = (await lostCluster(database.engine, database.knex, cause)) ?? cause;
      await database.close();
      const next = fallbacks.shift();
      if (next === undefined || !isOfEncryption(error)) throw refusedLogin(error, address.label);
      encrypted = next;
    }
  }
}

export function readOnlyServer(label: string): MigrationError {
  return new MigrationError(
    "N2I-E206",
    `${label} is read-only, for example a replica, so nothing is written to it`,
  );
}

interface Options {
  readonly readOnly: boolean;
  /** Autocommitted writes without `writing`, only for leases and locks. */
  readonly autocommit?: boolean;
  readonly timeout?: DatabaseTimeout;
}

function connect(
  address: DatabaseAddress,
  { readOnly, autocommit = false, timeout = { limit: 120_000, report: () => {} } }: Options,
  encrypted: boolean,
): Database {
  const { engine, label, socket, host } = address;
  const isLocal = socket !== null || /^(localhost|127\.[\d.]+|::1)$/i.test(host ?? "");
  const quiet = (): void => {};
  const made = new Set<unknown>();
  // Loaded on demand, because knex takes half of the start time of a command.
  const { knex: create } = require("knex") as { readonly knex: typeof knexFactory };
  const knex = create({
    ...knexConfig(address, encrypted, timeout),
    acquireConnectionTimeout: Math.min(30_000, timeout.limit),
    compileSqlOnError: false,
    log: { warn: quiet, error: quiet, debug: quiet, deprecate: quiet },
    pool: {
      min: 0,
      max: 3,
      afterCreate: (connection: unknown, done: (error: Error | null, made: unknown) => void) => {
        made.add(connection);
        prepare(address, connection, autocommit).then(
          () => done(null, connection),
          (error: Error) => done(error, connection),
        );
      },
    },
  });
  return {
    engine,
    label,
    address,
    knex,
    clear: !encrypted && engine !== "sqlite" && !isLocal,
    readOnly,
    frozen: false,
    lockWait: Math.min(3000, Math.floor(timeout.limit / 2)),
    run: async (doing, work) => {
      try {
        return await work();
      } catch (error) {
        throw translate((await lostCluster(engine, knex, error)) ?? error, doing, label);
      }
    },
    // An open transaction would block `destroy`, and its socket would keep the process alive.
    close: async () => {
      let timer: NodeJS.Timeout | undefined;
      const over = new Promise<void>((end) => {
        timer = setTimeout(end, GRACE);
      });
      await Promise.race([knex.destroy().catch(() => {}), over]);
      clearTimeout(timer);
      // SQLite has no socket.
      if (engine !== "sqlite") for (const connection of made) hangUp(connection);
    },
  };
}

/**
 * The database in a read-only snapshot, which `close` ends. knex omits the comma before READ ONLY that MySQL requires, but that session
 * is read-only. SQLite has neither setting.
 */
export async function readTransaction(database: Database): Promise<Database> {
  const { engine, knex, run } = database;
  const config: Knex.TransactionConfig = {
    ...(engine !== "sqlite" && { isolationLevel: "repeatable read" }),
    ...(engine === "postgresql" && { readOnly: true }),
  };
  const trx = await run("opening a transaction", () => knex.transaction(undefined, config));
  return { ...database, knex: trx, close: async () => void (await trx.rollback()) };
}
