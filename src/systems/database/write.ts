import type { Knex } from "knex";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { type Database, mysqlMode, readOnlyServer } from "./open.ts";
import { askNumber } from "./rows.ts";
import { isUnanswered } from "./statement.ts";

/** PostgreSQL's advisory lock. The run's lock has the previous number. */
const NUMBER = 6_672_154;
const NAME = "CONCAT('nova2ironic.write.', MD5(DATABASE()))";

const HOLDER = {
  mysql: `SELECT IS_USED_LOCK(${NAME}) AS id`,
  postgresql: `SELECT pid AS id FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = ${NUMBER} AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND granted LIMIT 1`,
} as const;

/**
 * Seconds of silence before the server ends a session with a lock, because a firewall may have
 * dropped the connection. A live client sends a query four times as often.
 */
export const IDLE = 300;

/** Starts a writing transaction. Sessions are read-only, so only this file can write. */
const OPEN: { readonly [engine in Database["engine"]]: readonly string[] } = {
  // Servers without read-only transactions skip the version comment.
  mysql: [`SET SESSION wait_timeout=${IDLE}`, "START TRANSACTION /*!50605 READ WRITE */"],
  postgresql: ["SET TRANSACTION READ WRITE"],
  // SQLite does not wait if a transaction reads before it writes: SQLITE_BUSY at once.
  sqlite: ["PRAGMA query_only=OFF", "ROLLBACK", "BEGIN IMMEDIATE"],
};

/** A writable transaction without the lock, for checks that are rolled back. */
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

/** Ends the transaction: read-only session, lock released. */
export async function endWriting({ engine }: Database, trx: Knex.Transaction): Promise<void> {
  // Errors are ignored: the first error is reported, and a lost connection fails each of these.
  if (engine === "sqlite") await trx.raw("PRAGMA query_only=ON").catch(() => null);
  if (engine === "mysql") {
    await trx.raw("ROLLBACK").catch(() => null);
    await trx.raw(`SELECT RELEASE_LOCK(${NAME})`).catch(() => null);
  }
  await trx.rollback().catch(() => null);
}

/**
 * The only way to write. A COMMIT can outlive its client (missing standby, full disk) and the run's
 * own lock. This lock lasts until the server ends the transaction, so no other run reads rows whose
 * COMMIT is pending.
 *
 * @throws MigrationError N2I-E206 on a read-only server, N2I-E318 if a transaction of an earlier
 *   run is open, N2I-E217 without an answer to the COMMIT
 */
export async function writing<T>(
  database: Database,
  work: (trx: Knex.Transaction, inside: Database) => Promise<T>,
): Promise<T> {
  if (database.frozen) throw readOnlyServer(database.label);
  const trx = await openWriting(database);
  try {
    await take(database, trx);
    const result = await work(trx, { ...database, knex: trx });
    await commit(database, trx);
    return result;
  } finally {
    await endWriting(database, trx);
  }
}

/**
 * On MySQL the statement ends the transaction and runs in the session's mode, which is read-only.
 */
export async function defining(database: Database, doing: string, sql: string): Promise<void> {
  await writing(database, async (trx) => {
    const isMysql = database.engine === "mysql";
    if (isMysql) await database.run(doing, () => trx.raw("COMMIT"));
    if (isMysql) await database.run(doing, () => trx.raw(mysqlMode("READ WRITE")));
    try {
      await database.run(doing, () => trx.raw(sql));
    } finally {
      if (isMysql) await trx.raw(mysqlMode("READ ONLY")).catch(() => null);
    }
  });
}

/** @throws MigrationError N2I-E318 after three seconds, or half of --db-timeout */
export async function committed(database: Database): Promise<void> {
  if (database.engine === "sqlite") return; // its transactions end with the process
  const trx = await database.run("opening a transaction", () => database.knex.transaction());
  try {
    await take(database, trx);
  } finally {
    await endWriting(database, trx);
  }
}

/** Waits in the server's queue, so that a run with frequent commits cannot starve it. */
async function take(database: Database, trx: Knex.Transaction): Promise<void> {
  const { engine, label, run, lockWait } = database;
  if (engine === "sqlite") return;
  const inside = { engine, run, knex: trx };
  const number = (sql: string) => askNumber(inside, "asking for the lock", sql);
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
    `${label}: a transaction of another run has not ended yet${who}`,
  );
}

/** PostgreSQL only. False after the timeout. */
async function queued(trx: Knex.Transaction, wait: number): Promise<boolean> {
  await trx.raw(`SAVEPOINT waits; SET LOCAL lock_timeout=${wait}`);
  try {
    await trx.raw(`SELECT pg_advisory_xact_lock(${NUMBER})`);
    await trx.raw("RELEASE SAVEPOINT waits; SET LOCAL lock_timeout='60s'");
    return true;
  } catch (cause) {
    if (!/^(55P03|57014)$/.test(systemCode(cause) ?? "")) throw cause;
    await trx.raw("ROLLBACK TO SAVEPOINT waits");
    return false;
  }
}

async function commit({ engine, run, label }: Database, trx: Knex.Transaction): Promise<void> {
  if (engine === "sqlite") await trx.raw("PRAGMA query_only=ON");
  try {
    await run("committing", async () => {
      // MySQL's lock belongs to the session, so the connection is still needed.
      if (engine === "mysql") return void (await trx.raw("COMMIT"));
      await trx.commit();
      // knex's commit() hides a failed COMMIT. This promise rejects.
      await trx.executionPromise;
    });
  } catch (cause) {
    if (!isUnanswered(cause)) throw cause;
    throw new MigrationError(
      "N2I-E217",
      `${label} did not answer the COMMIT, so its outcome is unknown`,
      { cause },
    );
  }
}
