import type { Knex } from "knex";

/** How long a lock is waited for: Nova's controller may hold one, and want another of ours. */
const LOCK_TIMEOUT = "2s";

/** One database's tables. */
interface Kept {
  readonly db: Knex;
  readonly tables: readonly string[];
}

/**
 * Keeps all rows of databases of a PostgreSQL, each in a schema of its own beside them.
 *
 * @returns brings them back
 */
export async function keepOnPostgres(
  databases: readonly Knex[],
  name: string,
): Promise<() => Promise<void>> {
  const schema = `saved_${name}`;
  const kept: Kept[] = [];
  for (const db of databases) {
    const tables: readonly string[] = await db("pg_tables")
      .where({ schemaname: "public" })
      .orderBy("tablename")
      .pluck("tablename");
    const copies = tables.map((table) => `CREATE TABLE ${schema}."${table}" AS TABLE "${table}"`);
    await db.raw(
      [`DROP SCHEMA IF EXISTS ${schema} CASCADE`, `CREATE SCHEMA ${schema}`, ...copies].join(";\n"),
    );
    kept.push({ db, tables });
  }
  return () => bringBack(kept, schema);
}

/** All of them, or none. */
async function bringBack(kept: readonly Kept[], schema: string): Promise<void> {
  const open: Knex.Transaction[] = [];
  try {
    for (const { db, tables } of kept) {
      const trx = await db.transaction();
      open.push(trx);
      await trx.raw(statements(tables, schema).join(";\n"));
    }
    for (const trx of open.splice(0)) await trx.commit();
  } finally {
    for (const trx of open) await trx.rollback();
  }
}

/**
 * Whoever changes a row meanwhile waits before he looks for it, and finds the one that was brought
 * back: that of which he had only waited for its lock would be gone.
 */
function statements(tables: readonly string[], schema: string): readonly string[] {
  const names = tables.map((table) => `"${table}"`);
  return [
    `SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`,
    // No foreign keys are checked.
    "SET LOCAL session_replication_role = replica",
    `LOCK TABLE ${names.join(", ")} IN ACCESS EXCLUSIVE MODE`,
    ...names.map((name) => `DELETE FROM ${name}`),
    ...names.map((name) => `INSERT INTO ${name} SELECT * FROM ${schema}.${name}`),
  ];
}
