import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import type { Knex, knex as knexFactory } from "knex";
import { MigrationError } from "../../lib/error.ts";
import type { DatabaseAddress, DatabasePlace, Engine } from "../../model/database.ts";
import { encryption, mysqlConnection, postgresConnection } from "./connection.ts";
import {
  isContended,
  isOfCluster,
  isOfEncryption,
  isUnknownName,
  refusedLogin,
  translate,
} from "./errors.ts";
import { hangUp, limitedClient, PATIENCE, type Patience } from "./limit.ts";
import { proveOwn } from "./own-session.ts";
import { select } from "./rows.ts";

const require = createRequire(import.meta.url);

/** An open database. Every call that may fail goes through `run`, which translates errors once. */
export interface Database {
  readonly engine: Engine;
  readonly shown: string;
  readonly address: DatabaseAddress;
  readonly knex: Knex;
  /** What goes over the line can be read by who taps it. */
  readonly clear: boolean;
  /** Of a copy: the database whose place it takes. */
  readonly standsFor?: DatabasePlace;
  /** Nothing is ever written to it. */
  readonly readOnly: boolean;
  /** Its own settings make it, or its sessions, read-only: whoever did that wants no load. */
  readonly frozen: boolean;
  /** Milliseconds to wait for a lock of another session, less than a server may be silent. */
  readonly lockWait: number;
  /** @throws MigrationError in our words, whatever the driver says */
  readonly run: <T>(doing: string, work: () => PromiseLike<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

/**
 * Servers of nova-baremetal's days (MySQL and MariaDB 5.5) know no read-only transactions; the
 * version in the comment leaves the words out there, and SELECT privileges alone protect the source.
 */
const MYSQL_READS =
  "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ /*!50605 , READ ONLY */";

/** Times after which PostgreSQL ends a session that waits for us; older servers know one of them. */
const IDLE = "'idle_in_transaction_session_timeout','idle_session_timeout','transaction_timeout'";

/** Whether a session may write that nothing was set for; asked after we set ours. A replica lets privileged users write. */
const FROZEN: { readonly [engine in Engine]: string | null } = {
  mysql:
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('tx_read_only', 'transaction_read_only', 'read_only', 'super_read_only') AND Value <> 'OFF'",
  postgresql:
    "SELECT 1 FROM pg_settings WHERE name = 'default_transaction_read_only' AND reset_val = 'on'",
  sqlite: null,
};

/**
 * First statements of every connection: strict, UTC, and read-only until `writing` says otherwise.
 * What a server, a database or a user has set otherwise for its sessions would change what is read
 * (encodings, forms of dates, cut results) or written (the word NULL as text), see old rows
 * (autocommit off), or end the connection that holds the lock.
 */
const SESSION: { readonly [engine in Engine]: readonly string[] } = {
  mysql: [
    "SET SESSION autocommit=1",
    "SET NAMES utf8mb4",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION sql_mode='TRADITIONAL', time_zone='+00:00', SESSION lock_wait_timeout=60, innodb_lock_wait_timeout=60",
    "SET SESSION completion_type=0, unique_checks=1, foreign_key_checks=1, sql_safe_updates=0, sql_select_limit=18446744073709551615",
    "SET SESSION wait_timeout=28800 /*M!100300 , SESSION idle_transaction_timeout=0 */",
    MYSQL_READS,
  ],
  postgresql: [
    "SET TIME ZONE 'UTC'",
    "SET lock_timeout='60s'",
    "SET client_encoding='UTF8'; SET datestyle='ISO, MDY'; SET bytea_output='hex'; SET array_nulls=on; SET standard_conforming_strings=on",
    `SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN (${IDLE})`,
    // Of a client that is gone without a word the server hears within two minutes, not after two hours.
    `SELECT set_config(name, CASE name WHEN 'tcp_keepalives_idle' THEN '60' ELSE '10' END, false) FROM pg_settings WHERE name IN ('tcp_keepalives_idle','tcp_keepalives_interval','tcp_keepalives_count') AND inet_client_addr() IS NOT NULL`,
    "SET default_transaction_isolation='read committed'",
    "SET default_transaction_read_only=on",
  ],
  sqlite: ["PRAGMA busy_timeout=20000", "PRAGMA foreign_keys=ON", "PRAGMA query_only=ON"],
};

/**
 * Of Galera, which many servers are not: a node answers only when it has applied what others committed before. After
 * a failover, a row that is still on its way must not count as gone.
 */
const SYNCED = "SET SESSION wsrep_sync_wait=15";

/** Runs one statement on a raw driver connection, whichever driver it is. */
async function onConnection(engine: Engine, connection: unknown, sql: string): Promise<void> {
  // The three drivers' own types; which one it is follows from the engine.
  if (engine === "sqlite") (connection as { exec: (text: string) => void }).exec(sql);
  else if (engine === "postgresql")
    await (connection as { query: (text: string) => Promise<unknown> }).query(sql);
  else {
    await new Promise<void>((resolve, reject) => {
      (connection as { query: (text: string, done: (error: Error | null) => void) => void }).query(
        sql,
        (error) => (error === null ? resolve() : reject(error)),
      );
    });
  }
}

/** Last statement of a connection whose every statement is a transaction, and may write. */
const AUTOCOMMIT: { readonly [engine in Engine]: string } = {
  mysql: "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ /*!50605 , READ WRITE */",
  postgresql: "SET default_transaction_read_only=off",
  sqlite: "PRAGMA query_only=OFF",
};

async function prepare(
  { engine, shown }: DatabaseAddress,
  connection: unknown,
  autocommit: boolean,
): Promise<void> {
  await proveOwn(engine, connection, shown);
  const last = autocommit ? [AUTOCOMMIT[engine]] : [];
  for (const sql of [...SESSION[engine], ...last]) await onConnection(engine, connection, sql);
  if (engine !== "mysql") return;
  await onConnection(engine, connection, SYNCED).catch((error: unknown) => {
    if (!isUnknownName(error)) throw error;
  });
}

/** knex's better-sqlite3 dialect over libsql, whose binary comes inside the npm package. */
function sqliteClient(): typeof Knex.Client {
  const Base = require("knex/lib/dialects/better-sqlite3/index.js") as typeof Knex.Client;
  return class extends Base {
    _driver(): unknown {
      return require("libsql");
    }
  };
}

/**
 * A node of Galera that has lost its cluster answers as one whose rows are locked (wsrep_sync_wait). It answers the
 * question for its state so too, and that waits for no row.
 *
 * @returns the error that other statements get there; null where a cluster is not the cause
 */
async function lostCluster(engine: Engine, knex: Knex, error: unknown): Promise<unknown> {
  if (engine !== "mysql" || !isContended(error)) return null;
  const status: unknown = await knex
    .raw("SHOW STATUS LIKE 'wsrep_cluster_status'")
    .catch((cause: unknown) => cause);
  const isLost = isOfCluster(status) || /non-primary/i.test(JSON.stringify(status));
  return isLost ? Object.assign(new Error(), { code: "ER_UNKNOWN_COM_ERROR" }) : null;
}

/** How long `close` waits for what is still going on, in milliseconds; then it cuts connections. */
const GRACE = 1000;

function config(address: DatabaseAddress, encrypted: boolean, patience: Patience): Knex.Config {
  const client = (): typeof Knex.Client => limitedClient(address, patience);
  switch (address.engine) {
    case "mysql":
      return { client: client(), connection: mysqlConnection(address, encrypted) };
    case "postgresql":
      return { client: client(), connection: postgresConnection(address, encrypted) };
    case "sqlite": {
      if (address.filename === null || !existsSync(address.filename))
        throw new MigrationError("N2I-E200", `${address.shown}: there is no such file`, {
          fix: "Check the path. Nothing was created there.",
        });
      return {
        client: sqliteClient(),
        connection: { filename: address.filename, options: { safeIntegers: true } as never },
        useNullAsDefault: true,
      };
    }
  }
}

/**
 * Opens a database and proves that it answers. Where the address leaves TLS to the server, the other
 * way is tried when the server refuses the first because of it.
 *
 * @param options.readOnly the server itself then refuses every write
 * @throws MigrationError N2I-E200, N2I-E201, N2I-E202, N2I-E216, N2I-E224
 */
export async function openDatabase(address: DatabaseAddress, options: Options): Promise<Database> {
  const [first, ...others] = encryption(address);
  for (let encrypted = first; ; ) {
    const database = connect(address, options, encrypted);
    try {
      await database.knex.raw("SELECT 1");
      const sql = options.readOnly ? null : FROZEN[address.engine];
      const rows = sql === null ? [] : await select(database, database.knex, sql);
      if (rows.length > 0 && options.autocommit === true) throw readOnlyServer(address.shown);
      return { ...database, frozen: rows.length > 0 };
    } catch (cause) {
      const error = (await lostCluster(database.engine, database.knex, cause)) ?? cause;
      await database.close();
      const next = others.shift();
      if (next === undefined || !isOfEncryption(error)) throw refusedLogin(error, address.shown);
      encrypted = next;
    }
  }
}

/** Of a server, or settings of it, that nothing is to be written to. */
export function readOnlyServer(shown: string): MigrationError {
  return new MigrationError(
    "N2I-E206",
    `${shown} is read-only, as a replica is; nothing is written to it`,
  );
}

/** No other machine sees what goes there. */
function isLocal({ socket, host }: DatabaseAddress): boolean {
  return socket !== null || /^(localhost|127\.[\d.]+|::1)$/i.test(host ?? "");
}

interface Options {
  readonly readOnly: boolean;
  /** Statements may write without `writing`, each a transaction by itself: of leases and locks alone. */
  readonly autocommit?: boolean;
  readonly patience?: Patience;
}

function connect(
  address: DatabaseAddress,
  { readOnly, autocommit = false, patience = PATIENCE }: Options,
  encrypted: boolean,
): Database {
  const { engine, shown } = address;
  const quiet = (): void => {};
  const made = new Set<unknown>();
  // Loaded when a database is opened: a command that opens none starts in half the time.
  const { knex: create } = require("knex") as { readonly knex: typeof knexFactory };
  const knex = create({
    ...config(address, encrypted, patience),
    acquireConnectionTimeout: Math.min(30_000, patience.limit),
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
    shown,
    address,
    knex,
    clear: !encrypted && engine !== "sqlite" && !isLocal(address),
    readOnly,
    frozen: false,
    lockWait: Math.min(3000, Math.floor(patience.limit / 2)),
    run: async (doing, work) => {
      try {
        return await work();
      } catch (error) {
        throw translate((await lostCluster(engine, knex, error)) ?? error, doing, shown);
      }
    },
    // A transaction that an error left open would wait for its end, and its socket keep us alive.
    close: async () => {
      let timer: NodeJS.Timeout | undefined;
      const over = new Promise<void>((end) => {
        timer = setTimeout(end, GRACE);
      });
      await Promise.race([knex.destroy().catch(() => {}), over]);
      clearTimeout(timer);
      // SQLite's has no socket that would keep the process alive.
      if (engine !== "sqlite") for (const connection of made) hangUp(connection);
    },
  };
}

/**
 * A transaction that sees one moment of the database and writes nothing.
 *
 * On MySQL the read-only session of `openDatabase` sees to the latter: knex writes `SET TRANSACTION
 * ISOLATION LEVEL .. READ ONLY` without the comma that MySQL wants there. SQLite knows neither word.
 *
 * @throws MigrationError
 */
export function readTransaction({ engine, knex, run }: Database): Promise<Knex.Transaction> {
  const config: Knex.TransactionConfig = {
    ...(engine !== "sqlite" && { isolationLevel: "repeatable read" }),
    ...(engine === "postgresql" && { readOnly: true }),
  };
  return run("opening a transaction", () => knex.transaction(undefined, config));
}
