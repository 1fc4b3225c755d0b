import type { ScannedKey } from "../../model/ironic/target.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, countRows, integer, text } from "../database/rows.ts";

/**
 * Foreign keys to nodes without an index (MySQL always creates one). Partial indexes do not count,
 * except NOT NULL on PostgreSQL.
 */
const KEYS = {
  postgresql: `SELECT k.relname AS name, a.attname AS col,
      CASE WHEN NOT has_table_privilege(k.oid, 'SELECT')
        THEN greatest(k.reltuples::bigint, pg_stat_get_live_tuples(k.oid), 0) END AS about
    FROM pg_constraint c JOIN pg_class k ON k.oid = c.conrelid
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.confrelid = 'nodes'::regclass AND pg_table_is_visible(k.oid) AND NOT EXISTS
      (SELECT 1 FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
       WHERE i.indrelid = c.conrelid AND i.indisvalid AND i.indkey[0] = c.conkey[1] AND m.amname IN ('btree', 'hash')
         AND coalesce(pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident(a.attname) || ' IS NOT NULL)', true))
    ORDER BY 1, 2`,
  sqlite: `SELECT m.name AS name, f."from" AS col, NULL AS about
    FROM sqlite_master m, pragma_foreign_key_list(m.name) f
    WHERE m.type = 'table' AND lower(f."table") = 'nodes' AND f.seq = 0 AND NOT EXISTS
      (SELECT 1 FROM pragma_index_list(m.name) l, pragma_index_info(l.name) i
       WHERE l.partial = 0 AND i.seqno = 0 AND i.name = f."from")
    ORDER BY 1, 2`,
} as const;

/** `about`: an estimate, if the rows cannot be counted. */
async function keysOf(database: Database) {
  const { engine } = database;
  if (engine === "mysql") return [];
  const found = await ask(database, "looking for indexes", KEYS[engine]);
  return found.map(({ name, col, about }) => ({
    ...{ table: text(name) ?? "", column: text(col) ?? "", about: integer(about ?? null) },
  }));
}

/** Tables that the server scans for each deleted node, with their number of rows. */
export async function scannedKeys(database: Database): Promise<readonly ScannedKey[]> {
  const found: ScannedKey[] = [];
  for (const { about, ...key } of await keysOf(database)) {
    const rows = about ?? (await countRows(database, quoted(database.engine, key.table)));
    found.push({ ...key, rows });
  }
  return found;
}

export async function scannedByNode(database: Database): Promise<ReadonlySet<string>> {
  const keys = await keysOf(database);
  return new Set(keys.filter(({ column }) => column === "node_id").map(({ table }) => table));
}
