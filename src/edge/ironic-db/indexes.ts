import type { ScannedKey } from "../../model/target.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, countRows, integer, text } from "../database/rows.ts";
import { defining } from "../database/write.ts";

/** Foreign keys to nodes that no index leads to, and whether we may make one. MySQL makes it by itself. */
const KEYS = {
  postgresql: `SELECT k.relname AS name, a.attname AS col,
      (pg_has_role(k.relowner, 'USAGE') AND has_schema_privilege(k.relnamespace, 'CREATE'))::int AS ours
    FROM pg_constraint c JOIN pg_class k ON k.oid = c.conrelid
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.confrelid = 'nodes'::regclass AND NOT EXISTS
      (SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indisvalid AND i.indkey[0] = c.conkey[1])
    ORDER BY 1, 2`,
  sqlite: `SELECT m.name AS name, f."from" AS col, 1 AS ours
    FROM sqlite_master m, pragma_foreign_key_list(m.name) f
    WHERE m.type = 'table' AND f."table" = 'nodes' AND f.seq = 0 AND NOT EXISTS
      (SELECT 1 FROM pragma_index_list(m.name) l, pragma_index_info(l.name) i
       WHERE i.seqno = 0 AND i.name = f."from")
    ORDER BY 1, 2`,
} as const;

/** Tables that the server reads whole for each node that is deleted, with their rows. */
export async function scannedKeys(database: Database): Promise<readonly ScannedKey[]> {
  const { engine } = database;
  if (engine === "mysql") return [];
  const found: ScannedKey[] = [];
  for (const { name, col, ours } of await ask(database, "looking for indexes", KEYS[engine])) {
    const [table, column] = [text(name) ?? "", text(col) ?? ""];
    const rows = await countRows(database, quoted(engine, table));
    found.push({ table, column, rows, ours: integer(ours) === 1, index: nameOf(table, column) });
  }
  return found;
}

/** In its own transaction; writers of the table wait while it is made. */
export function createIndex(database: Database, { index, table, column }: ScannedKey) {
  const name = (word: string): string => quoted(database.engine, word);
  const sql = `CREATE INDEX ${name(index)} ON ${name(table)} (${name(column)})`;
  return defining(database, `making the index ${index}`, sql);
}

/** One that is gone already is none too many. */
export function dropIndex(database: Database, index: string): Promise<void> {
  const sql = `DROP INDEX IF EXISTS ${quoted(database.engine, index)}`;
  return defining(database, `dropping the index ${index}`, sql);
}

/** Nobody else gives an index such a name, and 63 bytes are PostgreSQL's limit. */
function nameOf(table: string, column: string): string {
  return `nova2ironic_${table}_${column}`.slice(0, 63);
}
