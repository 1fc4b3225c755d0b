import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../lib/error.ts";
import type { Engine } from "../../model/database.ts";
import { isContended } from "./errors.ts";
import type { Database } from "./open.ts";
import type { Runner } from "./rows.ts";

/** Times that a statement is tried while others have its rows. @source systems.md A4 rule (c) */
const TRIES = 10;
/** Milliseconds between two, times how often it was tried, so that two do not meet again. */
const APART = 5;

/** Codes after which nobody knows what became of a statement. */
const UNANSWERED: ReadonlySet<string> = new Set(["N2I-E200", "N2I-E216"]);

/** Whether a statement may have been done though it failed here. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof MigrationError && UNANSWERED.has(error.code);
}

/**
 * Milliseconds since 1970 by the server's clock, at the statement and not at its transaction's begin.
 * A statement that waited for a row counts from before: nobody looks the deader for it.
 *
 * @source systems.md A4
 */
export function clockOf(engine: Engine): string {
  return {
    mysql: "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000 AS SIGNED)",
    postgresql: "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)",
    sqlite: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
  }[engine];
}

/** The same moment for people, UTC. */
export function timeOf(engine: Engine): string {
  return {
    mysql: "UTC_TIMESTAMP()",
    postgresql: "date_trunc('second', clock_timestamp() AT TIME ZONE 'UTC')",
    sqlite: "datetime('now')",
  }[engine];
}

/**
 * One statement that is a transaction by itself, and compares what it replaces.
 *
 * @param database opened with `autocommit`
 * @returns rows that it found, changed or not
 * @throws MigrationError of which `isUnanswered` says whether it may have been done
 */
export function stated(
  database: Database,
  doing: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<number> {
  return contending(database, doing, () => changedBy(database.engine, database.knex, sql, values));
}

/** Runs one statement of a transaction and counts its rows. */
type Changing = (sql: string, values?: readonly unknown[]) => Promise<number>;

/**
 * Statements that count all or none: false takes back what was done.
 *
 * @param database opened with `autocommit`
 * @returns what the work did
 */
export function together(
  database: Database,
  doing: string,
  work: (change: Changing) => Promise<boolean>,
): Promise<boolean> {
  const { engine, knex } = database;
  return contending(database, doing, async () => {
    const trx = await knex.transaction();
    try {
      const done = await work((sql, values = []) => changedBy(engine, trx, sql, values));
      if (!done) return false;
      // knex's commit() succeeds whatever the server says of a COMMIT.
      if (engine === "mysql") await trx.raw("COMMIT");
      await trx.commit();
      await trx.executionPromise;
      return true;
    } finally {
      if (!trx.isCompleted()) await trx.rollback().catch(() => null);
    }
  });
}

async function contending<T>(
  database: Database,
  doing: string,
  work: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    let again = false;
    try {
      return await database.run(doing, () =>
        work().catch((error: unknown) => {
          again = isContended(error);
          throw error;
        }),
      );
    } catch (error) {
      if (!again || tried === TRIES) throw error;
      await sleep(APART * tried);
    }
  }
}

interface Said {
  readonly affectedRows?: number;
  readonly rowCount?: number;
  readonly changes?: number | bigint;
}

/** Runs a statement that gives no rows. @returns how many it found, changed or not */
export async function changedBy(
  engine: Engine,
  on: Runner,
  sql: string,
  values: readonly unknown[],
): Promise<number> {
  // knex's own binding type is narrower than what its drivers take; its answer differs by driver.
  const answer = await on.raw(sql, values as readonly never[]);
  const said = (engine === "mysql" ? (answer as [Said])[0] : answer) as Said;
  return Number(said.affectedRows ?? said.rowCount ?? said.changes ?? 0);
}
