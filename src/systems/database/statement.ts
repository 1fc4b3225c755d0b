import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../lib/error.ts";
import type { Engine } from "../../model/database.ts";
import { isContended } from "./errors.ts";
import type { Database } from "./open.ts";
import { ask, integer, type Readable, type Runner, text } from "./rows.ts";

/** Attempts of a statement that conflicts with other sessions. @source systems.md A4 rule (c) */
const TRIES = 10;
/** Milliseconds between attempts, multiplied by the attempt's number. */
const APART = 5;

/** Codes after which the outcome of a statement is unknown. */
const UNANSWERED: ReadonlySet<string> = new Set(["N2I-E200", "N2I-E216"]);

export function isUnanswered(error: unknown): boolean {
  return error instanceof MigrationError && UNANSWERED.has(error.code);
}

/**
 * The server's clock in milliseconds at the statement, not at the start of its transaction, so that
 * waiting for a row does not make a host look dead for longer.
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

export function timeOf(engine: Engine): string {
  return {
    mysql: "UTC_TIMESTAMP()",
    postgresql: "date_trunc('second', clock_timestamp() AT TIME ZONE 'UTC')",
    sqlite: "datetime('now')",
  }[engine];
}

/**
 * One autocommitted statement that compares the values it replaces.
 *
 * @param database opened with `autocommit`
 * @returns matched rows, changed or not
 * @throws MigrationError; `isUnanswered` shows whether it may have been executed
 */
export function stated(
  database: Database,
  doing: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<number> {
  return contending(database, doing, () => changedBy(database, sql, values));
}

/** If the work returns false, it is rolled back. @param database opened with `autocommit` */
export function transact(
  database: Database,
  doing: string,
  work: (change: (sql: string, values?: readonly unknown[]) => Promise<number>) => Promise<boolean>,
): Promise<boolean> {
  const { engine, knex } = database;
  return contending(database, doing, async () => {
    const trx = await knex.transaction();
    try {
      const done = await work((sql, values = []) => changedBy({ engine, knex: trx }, sql, values));
      if (!done) return false;
      // knex's commit() hides a failed COMMIT.
      if (engine === "mysql") await trx.raw("COMMIT");
      await trx.commit();
      await trx.executionPromise;
      return true;
    } finally {
      if (!trx.isCompleted()) await trx.rollback().catch(() => null);
    }
  });
}

async function contending<T>(database: Database, doing: string, work: () => Promise<T>) {
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

interface DriverResult {
  readonly affectedRows?: number;
  readonly rowCount?: number;
  readonly changes?: number | bigint;
}

/** @returns matched rows, changed or not */
async function changedBy({ engine, knex }: Runner, sql: string, values: readonly unknown[]) {
  // knex's binding type is narrower than the drivers', and the result differs by driver.
  const answer = await knex.raw(sql, values as readonly never[]);
  const result = (engine === "mysql" ? (answer as [DriverResult])[0] : answer) as DriverResult;
  return Number(result.affectedRows ?? result.rowCount ?? result.changes ?? 0);
}

/**
 * Refuses to insert if a PostgreSQL sequence is below the highest id, as after copying rows with
 * their ids. Before PostgreSQL 10 only the insert shows it.
 *
 * @throws MigrationError N2I-E219
 */
export async function checkSequences(database: Readable, tables: readonly string[]): Promise<void> {
  if (database.engine !== "postgresql") return;
  for (const table of new Set(tables)) {
    const doing = `reading the sequence of ${table}`;
    const view = "SELECT to_regclass('pg_catalog.pg_sequences') IS NOT NULL AS has_view";
    const [{ has_view: hasView } = {}] = await ask(database, doing, view);
    if (hasView !== true) continue;
    // NULL without a privilege on the sequence, as before its first use.
    const sql =
      "SELECT pg_get_serial_sequence(?, 'id') AS name, s.last_value AS last, m.id AS taken " +
      `FROM pg_sequences s, (SELECT max(id) AS id FROM ${table}) m WHERE s.last_value IS NOT NULL ` +
      "AND format('%I.%I', s.schemaname, s.sequencename) = pg_get_serial_sequence(?, 'id')";
    const rows = await ask(database, doing, sql, [table, table]);
    for (const { name, last, taken } of rows)
      if ((integer(last) ?? 0) < (integer(taken) ?? 0))
        throw sequenceError(
          table,
          `${text(name)} is at ${text(last)}, but the highest id is ${text(taken)}`,
        );
  }
}

/** Converts the driver's error for an id in use, and rethrows others. */
export function orSequenceTooLow(table: string): (error: unknown) => never {
  return (error) => {
    if (typeof error === "object" && error !== null && "code" in error && "constraint" in error)
      if (error.code === "23505" && error.constraint === `${table}_pkey`)
        throw sequenceError(table, "it returns an id that is in use");
    throw error;
  };
}

function sequenceError(table: string, what: string): MigrationError {
  return new MigrationError("N2I-E219", `the sequence of ${table}: ${what}`, {
    fix: `As the owner of the table: SELECT setval(pg_get_serial_sequence('${table}', 'id'), (SELECT max(id) FROM ${table})); then run the same command again.`,
  });
}
