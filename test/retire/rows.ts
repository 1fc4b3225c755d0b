import type { TestDatabase } from "../lab/index.ts";

/** Every row of the tables a nova_bm of these tests has, by the tests' own connection. */
export async function digestOf({ db, engine }: TestDatabase): Promise<string> {
  const all: unknown[] = [];
  for (const table of ["bm_interfaces", "bm_nodes", "migrate_version", "racks"]) {
    const names = Object.keys(await db(table).columnInfo()).sort();
    const columns = names.map((name) =>
      engine === "sqlite"
        ? db.raw("typeof(??) || hex(??) AS ??", [name, name, name])
        : db.raw("?? AS ??", [name, name]),
    );
    const rows: object[] = await db(table).select(columns);
    all.push([table, rows.map((row) => JSON.stringify(row)).sort()]);
  }
  return JSON.stringify(all);
}
