import { MigrationError } from "../../lib/error.ts";
import { ask, integer, type Readable, text } from "./rows.ts";

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
