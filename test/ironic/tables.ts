import type { Knex } from "knex";

/** Every row of every table of Ironic's database, but for a conductor's sign of life. */
export async function tables(db: Knex): Promise<{ readonly [table: string]: readonly string[] }> {
  const of: Record<string, readonly string[]> = {};
  for (const table of await names(db)) {
    // Rows of whatever table it is.
    const rows = (await db(table)) as readonly Record<string, unknown>[];
    const ticks = table === "conductors" ? { updated_at: null } : {};
    of[table] = rows.map((row) => JSON.stringify({ ...row, ...ticks })).toSorted();
  }
  return of;
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
