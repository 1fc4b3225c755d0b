import type { Database } from "../database/open.ts";
import { ask, countRows, text } from "../database/rows.ts";

/** Foreign keys to nodes that no index leads to. MySQL makes such an index by itself. */
const KEYS =
  "SELECT k.relname AS name, a.attname AS col FROM pg_constraint c JOIN pg_class k ON k.oid = c.conrelid JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] WHERE c.contype = 'f' AND c.confrelid = 'nodes'::regclass AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1]) ORDER BY 1, 2";

/** Tables that PostgreSQL reads whole for each node that is deleted, with their rows. */
export async function scannedTables(
  database: Database,
): Promise<readonly { readonly table: string; readonly column: string; readonly rows: number }[]> {
  if (database.engine !== "postgresql") return [];
  const found = [];
  for (const { name, col } of await ask(database, "looking for indexes", KEYS)) {
    const [table, column] = [text(name) ?? "", text(col) ?? ""];
    found.push({ table, column, rows: await countRows(database, table) });
  }
  return found;
}
