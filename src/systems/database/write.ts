import { closeSync, fstatSync, openSync, realpathSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import type { Knex } from "knex";
import { MigrationError } from "../../lib/error.ts";
import { atExit } from "../../lib/files/at-exit.ts";
import type { Lock } from "../../model/ironic/target.ts";
import { translate } from "./errors.ts";
import { type Database, readOnlyServer } from "./open.ts";
import { ask, askNumber, integer, text } from "./rows.ts";

/** The advisory lock's number on PostgreSQL; a run's own is the one before. */
const NUMBER = 6_672_154;
const NAME = "CONCAT('nova2ironic.write.', MD5(DATABASE()))";

/** The session that holds it, for who wants to end it. */
const HOLDER = {
  mysql: `SELECT IS_USED_LOCK(${NAME}) AS id`,
  postgresql: `SELECT pid AS id FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = ${NUMBER} AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND granted LIMIT 1`,
} as const;

/**
 * Seconds after which the server ends a session that holds a lock and is not heard of: its client may be gone
 * without a word, as behind a firewall that lost its state. A client that lives asks something four times as often.
 */
const IDLE = 300;

/** What lets one transaction write: sessions are read-only, so that nothing writes past this file. */
const OPEN: { readonly [engine in Database["engine"]]: readonly string[] } = {
  // Servers that know no read-only transactions leave the words out.
  mysql: [`SET SESSION wait_timeout=${IDLE}`, "START TRANSACTION /*!50605 READ WRITE */"],
  postgresql: ["SET TRANSACTION READ WRITE"],
  // Who reads before it writes is not let wait for another who writes: it is SQLITE_BUSY at once.
  sqlite: ["PRAGMA query_only=OFF", "ROLLBACK", "BEGIN IMMEDIATE"],
};

/** A transaction that may write, and holds no lock: for questions that are rolled back. */
export async function openWriting(database: Database): Promise<Knex.Transaction> {
  const { engine, knex, run, readOnly, frozen } = database;
  if (readOnly) throw new Error("a database that was opened to be read is not written to");
  const trx = await run("opening a transaction", () => knex.transaction());
  try {
    for (const sql of frozen ? [] : OPEN[engine])
      await run("opening a transaction", () => trx.raw(sql));
    return trx;
  } catch (error) {
    await endWriting(database, trx);
    throw error;
  }
}

/** Gives the connection back as it was: read-only, without the lock. */
export async function endWriting({ engine }: Database, trx: Knex.Transaction): Promise<void> {
  // The first error is the one to tell; a cut line fails the rollback too.
  if (engine === "sqlite") await trx.raw("PRAGMA query_only=ON").catch(() => null);
  if (engine === "mysql") {
    await trx.raw("ROLLBACK").catch(() => null);
    await trx.raw(`SELECT RELEASE_LOCK(${NAME})`).catch(() => null);
  }
  await trx.rollback().catch(() => null);
}

/**
 * The only way to write: a transaction that holds a lock on its own connection. A COMMIT may outlive
 * its client (a standby that is away, a full disk), and with it go the run's own lock and its word of
 * what was kept. This one ends when the server ends the transaction, so nobody looks at rows that
 * may still come.
 *
 * @throws MigrationError N2I-E206 when the server is read-only, N2I-E318 when a transaction of an earlier run has not ended, N2I-E217 when
 *   the COMMIT was not answered
 */
export async function writing<T>(
  database: Database,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  if (database.frozen) throw readOnlyServer(database.shown);
  const trx = await openWriting(database);
  try {
    await take(database, trx);
    const result = await work(trx);
    await commit(database, trx);
    return result;
  } finally {
    await endWriting(database, trx);
  }
}

/** On MySQL what may be written by statements that are a transaction each. */
const SESSION = (mode: "READ ONLY" | "READ WRITE"): string =>
  `SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ /*!50605 , ${mode} */`;

/**
 * Makes or drops a table. On MySQL such a statement ends the transaction it stands in, and is one by
 * itself: of the session's kind, which is read-only.
 */
export async function defining(database: Database, doing: string, sql: string): Promise<void> {
  await writing(database, async (trx) => {
    const isMysql = database.engine === "mysql";
    if (isMysql) await database.run(doing, () => trx.raw("COMMIT"));
    if (isMysql) await database.run(doing, () => trx.raw(SESSION("READ WRITE")));
    try {
      await database.run(doing, () => trx.raw(sql));
    } finally {
      if (isMysql) await trx.raw(SESSION("READ ONLY")).catch(() => null);
    }
  });
}

/**
 * Waits for a transaction that an earlier run left behind, whose rows may still come.
 *
 * @throws MigrationError N2I-E318 when it has not ended after three seconds, or half of --db-timeout
 */
export async function committed(database: Database): Promise<void> {
  if (database.engine === "sqlite") return; // its transactions end with the process
  const trx = await database.run("opening a transaction", () => database.knex.transaction());
  try {
    await take(database, trx);
  } finally {
    await endWriting(database, trx);
  }
}

/** Waits in the server's own queue, so that a run that commits batch after batch cannot keep it out. */
async function take(database: Database, trx: Knex.Transaction): Promise<void> {
  const { engine, shown, run, lockWait } = database;
  if (engine === "sqlite") return;
  const number = (sql: string) => askNumber(database, "asking for the lock", sql, [], trx);
  const isTaken =
    engine === "mysql"
      ? (await number(`SELECT GET_LOCK(${NAME}, ${Math.floor(lockWait / 1000)}) AS got`)) === 1
      : (await number(`SELECT pg_try_advisory_xact_lock(${NUMBER})::int AS got`)) === 1 ||
        (await run("asking for the lock", () => queued(trx, lockWait)));
  if (isTaken) return;
  const holder = await number(HOLDER[engine]);
  const who = holder === null ? "" : ` (session ${holder} of the server)`;
  throw new MigrationError(
    "N2I-E318",
    `${shown}: a transaction of another run has not ended yet${who}`,
  );
}

/** On PostgreSQL; false if it took too long. */
async function queued(trx: Knex.Transaction, wait: number): Promise<boolean> {
  await trx.raw(`SAVEPOINT waits; SET LOCAL lock_timeout=${wait}`);
  try {
    await trx.raw(`SELECT pg_advisory_xact_lock(${NUMBER})`);
    await trx.raw("RELEASE SAVEPOINT waits; SET LOCAL lock_timeout='60s'");
    return true;
  } catch (cause) {
    if (
      !(cause instanceof Error) ||
      !("code" in cause) ||
      !/^(55P03|57014)$/.test(String(cause.code))
    )
      throw cause;
    await trx.raw("ROLLBACK TO SAVEPOINT waits");
    return false;
  }
}

async function commit({ engine, run, shown }: Database, trx: Knex.Transaction): Promise<void> {
  if (engine === "sqlite") await trx.raw("PRAGMA query_only=ON");
  try {
    await run("committing", async () => {
      // There the connection is needed once more: the lock is the session's.
      if (engine === "mysql") return void (await trx.raw("COMMIT"));
      await trx.commit();
      // knex's commit() succeeds whatever the server says; this promise tells one that failed.
      await trx.executionPromise;
    });
  } catch (cause) {
    if (!(cause instanceof MigrationError) || !UNANSWERED.has(cause.code)) throw cause;
    throw new MigrationError(
      "N2I-E217",
      `${shown} did not answer the COMMIT: whether it was kept is not known`,
      { cause },
    );
  }
}

const UNANSWERED: ReadonlySet<string> = new Set(["N2I-E200", "N2I-E216"]);

function held(shown: string): MigrationError {
  return new MigrationError("N2I-E302", `${shown}: another nova2ironic is writing to it`);
}

/** Names the session that has the lock and the statement that ends it, as far as the user may see sessions. */
async function heldBy(
  database: Database,
  engine: "mysql" | "postgresql",
  on: Knex,
): Promise<MigrationError> {
  const { shown } = database;
  const sql = STATEMENTS[engine].holder;
  // A server that cannot say it, or does not let this user see it, still refuses by its lock.
  const [row = {}] = await ask(database, "looking for the lock's session", sql, [], on).catch(
    () => [],
  );
  const [id, host, since] = [integer(row.id), text(row.host), text(row.since)];
  if (id === null) return held(shown);
  const from = host === null ? "" : ` from ${host}`;
  const age = since === null ? "" : `, last heard of at ${since} UTC`;
  const end = engine === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`;
  return new MigrationError(
    "N2I-E302",
    `${shown}: another nova2ironic is writing to it, in session ${id} of the server${from}${age}`,
    {
      fix: `If that run is still going, wait for it. If its host or its connection is gone, the server ends the session after ${IDLE / 60} minutes; to end it now, run on the server: ${end};`,
    },
  );
}

/**
 * One writer at a time on one database. The lock lives in a connection of its own and dies
 * with it, so a killed run leaves none behind; what the server still makes of that run's last
 * transaction is waited for (`committed`).
 *
 * Galera does not carry GET_LOCK from node to node: two runs through two nodes are kept apart only
 * by the comparison of every row before it is written. @source facts/ux.md 4.3
 */
export async function lockTarget(database: Database, idle = IDLE): Promise<Lock> {
  const { engine } = database;
  return engine === "sqlite" ? lockFile(database) : lockConnection(database, engine, idle);
}

const RUN_NAME = "CONCAT('nova2ironic.', MD5(DATABASE()))";
/** The advisory lock's number on PostgreSQL; the lock is of this database only. */
const RUN_NUMBER = 6_672_153;

/** Each is answered by 1: it is taken, it is ours still, it is given back. */
const STATEMENTS = {
  mysql: {
    take: `SELECT GET_LOCK(${RUN_NAME}, 0) AS got`,
    mine: `SELECT IS_USED_LOCK(${RUN_NAME}) = CONNECTION_ID() AS mine`,
    free: `SELECT RELEASE_LOCK(${RUN_NAME}) AS freed`,
    /** Who may not see others' sessions still gets its number. */
    holder: `SELECT l.id, p.host, DATE_SUB(UTC_TIMESTAMP(), INTERVAL p.time SECOND) AS since FROM (SELECT IS_USED_LOCK(${RUN_NAME}) AS id) AS l LEFT JOIN information_schema.processlist AS p ON p.id = l.id`,
    idle: (seconds: number) => `SET SESSION wait_timeout=${seconds}`,
  },
  postgresql: {
    take: `SELECT pg_try_advisory_lock(${RUN_NUMBER})::int AS got`,
    mine: "SELECT 1 AS mine",
    free: `SELECT pg_advisory_unlock(${RUN_NUMBER})::int AS freed`,
    holder: `SELECT l.pid AS id, host(a.client_addr) AS host, to_char(a.state_change AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS since FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.classid = 0 AND l.objid = ${RUN_NUMBER} AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.granted LIMIT 1`,
    idle: (seconds: number) =>
      `SELECT set_config(name, '${seconds}s', false) FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`,
  },
} as const;

async function lockConnection(
  database: Database,
  engine: "mysql" | "postgresql",
  idle: number,
): Promise<Lock> {
  const { shown, run } = database;
  const { take, mine, free } = STATEMENTS[engine];
  const trx = await run("taking the lock", () => database.knex.transaction());
  let last: Promise<unknown> = Promise.resolve();
  // One question at a time on the connection: pg takes no second.
  const isSo = async (sql: string): Promise<boolean> => {
    const ask = () => askNumber(database, "asking for the lock", sql, [], trx);
    const answer = last.then(ask, ask);
    last = answer;
    return (await answer) === 1;
  };
  try {
    if (!(await isSo(take))) throw await heldBy(database, engine, trx);
    await run("taking the lock", () => trx.raw(STATEMENTS[engine].idle(idle)));
    await committed(database);
  } catch (error) {
    await trx.rollback().catch(() => null);
    throw error;
  }
  const heard = setInterval(() => void isSo(mine).catch(() => null), (idle * 1000) / 4).unref();
  return {
    async check() {
      const isMine = await isSo(mine).catch((cause: unknown) => {
        const why = `${shown}: the connection that held the lock is gone`;
        throw new MigrationError("N2I-E200", why, { cause });
      });
      if (!isMine) throw held(shown);
    },
    async release() {
      clearInterval(heard);
      // The lock dies with the connection anyway; a dead server must not hide the real error.
      await isSo(free).catch(() => null);
      await trx.rollback().catch(() => null);
    },
  };
}

/**
 * SQLite has no advisory locks: an exclusive transaction on a file beside the database is one. The
 * file goes with the lock. Who waited for it at that moment, or comes after a hand that removed it,
 * has another file of that name: only while the name is still the file that was locked is it held.
 */
function lockFile({ address, shown }: Database): Lock {
  // By any other name it is the same database.
  const path = `${realpathSync(address.filename ?? "")}.nova2ironic-lock`;
  const Libsql = createRequire(import.meta.url)("libsql") as new (
    file: string,
  ) => { exec: (sql: string) => void; close: () => void };
  let connection: InstanceType<typeof Libsql>;
  let file: number;
  try {
    // Opened before libsql does, and open as long: its number is given to no other file meanwhile.
    file = openSync(path, "a", 0o600);
    connection = new Libsql(path);
  } catch (error) {
    throw translate(error, "making the lock file", shown);
  }
  const ours = fstatSync(file).ino;
  const mine = (): boolean => statSync(path, { throwIfNoEntry: false })?.ino === ours;
  // Closing any descriptor of a file gives up all locks this process has on it: so this comes last.
  const close = (): void => {
    connection.close();
    closeSync(file);
  };
  try {
    connection.exec("PRAGMA busy_timeout=0");
    connection.exec("BEGIN EXCLUSIVE");
    if (!mine()) throw held(shown);
  } catch (error) {
    close();
    if (error instanceof MigrationError) throw error;
    const busy =
      error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
    throw busy ? held(shown) : translate(error, "taking the lock", shown);
  }
  const remove = (): void => {
    if (mine()) rmSync(path, { force: true });
  };
  const gone = atExit(remove);
  return {
    async check() {
      if (!mine()) throw new MigrationError("N2I-E302", `${path} was removed while it was held`);
    },
    async release() {
      gone();
      remove();
      close();
    },
  };
}
