import type { Knex } from "knex";

/** What a conductor writes by the clock. */
const TICKING: ReadonlySet<string> = new Set(["conductors.updated_at"]);

/** Every row of every table of Ironic's database, but for a conductor's sign of life. */
export async function tables(db: Knex): Promise<{ readonly [table: string]: readonly string[] }> {
  const of: Record<string, readonly string[]> = {};
  for (const table of await names(db)) {
    // Rows of whatever table it is.
    const rows = (await db(table)) as readonly Record<string, unknown>[];
    of[table] = rows.map((row) => JSON.stringify(still(table, row))).toSorted();
  }
  return of;
}

function still(table: string, row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).filter(([column]) => !TICKING.has(`${table}.${column}`)),
  );
}

async function names(db: Knex): Promise<readonly string[]> {
  const mysql = db.client.config.client === "mysql2";
  const schema = mysql ? "DATABASE()" : "'public'";
  const rows: readonly { readonly name: string }[] = await db
    .select("table_name as name")
    .from("information_schema.tables")
    .whereRaw(`table_schema = ${schema}`);
  return rows.map(({ name }) => name).toSorted();
}
