import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import { MigrationError } from "../../model/error.ts";
import type { Database } from "./open.ts";
import { askNumber } from "./rows.ts";

/** The advisory lock's number on PostgreSQL. @source lock.ts, whose own is the one before */
const NUMBER = 6_672_154;
const NAME = "CONCAT('nova2ironic.write.', MD5(DATABASE()))";

/** Milliseconds that a killed run's session has to end: as a rule the server notices at once. */
const PATIENCE = 3000;
const LOOK = 100;

const TAKE = {
  mysql: `SELECT GET_LOCK(${NAME}, 0) AS got`,
  postgresql: `SELECT pg_try_advisory_xact_lock(${NUMBER})::int AS got`,
} as const;

/** The session that holds it, for who wants to end it. */
const HOLDER = {
  mysql: `SELECT IS_USED_LOCK(${NAME}) AS id`,
  postgresql: `SELECT pid AS id FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = ${NUMBER} AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND granted LIMIT 1`,
} as const;

/** What lets one transaction write: sessions are read-only, so that nothing writes past this file. */
const OPEN: { readonly [engine in Database["engine"]]: string } = {
  // Servers that know no read-only transactions leave the words out.
  mysql: "START TRANSACTION /*!50605 READ WRITE */",
  postgresql: "SET TRANSACTION READ WRITE",
  sqlite: "PRAGMA query_only=OFF",
};

/** A transaction that may write, and holds no lock: for questions that are rolled back. */
export async function openWriting(database: Database): Promise<Knex.Transaction> {
  const { engine, knex, run, readOnly, frozen } = database;
  if (readOnly) throw new Error("a database that was opened to be read is not written to");
  const trx = await run("opening a transaction", () => knex.transaction());
  try {
    if (!frozen) await run("opening a transaction", () => trx.raw(OPEN[engine]));
    return trx;
  } catch (error) {
    await trx.rollback().catch(() => null);
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
 * @throws MigrationError N2I-E318 when a transaction of an earlier run has not ended, N2I-E217 when
 *   the COMMIT was not answered
 */
export async function writing<T>(
  database: Database,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
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

/**
 * Waits for a transaction that an earlier run left behind.
 *
 * @throws MigrationError N2I-E318
 */
export async function untilEnded(database: Database): Promise<void> {
  if (database.engine === "sqlite") return; // its transactions end with the process
  const trx = await database.run("opening a transaction", () => database.knex.transaction());
  try {
    await take(database, trx);
  } finally {
    await endWriting(database, trx);
  }
}

async function take(database: Database, trx: Knex.Transaction): Promise<void> {
  const { engine, shown } = database;
  if (engine === "sqlite") return;
  const number = (sql: string) => askNumber(database, "asking for the lock", sql, [], trx);
  for (let waited = 0; (await number(TAKE[engine])) !== 1; waited += LOOK) {
    if (waited >= PATIENCE) {
      const holder = await number(HOLDER[engine]);
      const who = holder === null ? "" : ` (session ${holder} of the server)`;
      throw new MigrationError(
        "N2I-E318",
        `${shown}: a transaction of another run has not ended yet${who}`,
      );
    }
    await sleep(LOOK);
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
