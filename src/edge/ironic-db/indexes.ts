import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../model/error.ts";
import type { ScannedKey } from "../../model/target.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, countRows, integer, text } from "../database/rows.ts";
import { writing } from "../database/write.ts";

/**
 * Foreign keys to nodes that no index leads to, and whether we may make one: MySQL makes it by itself. One that
 * has some rows alone is none; on PostgreSQL, unless it leaves out the nulls. Rows that this user may not read are estimated.
 */
const KEYS = {
  postgresql: `SELECT k.relname AS name, a.attname AS col,
      (pg_has_role(k.relowner, 'USAGE') AND has_schema_privilege(k.relnamespace, 'CREATE'))::int AS ours,
      CASE WHEN NOT has_table_privilege(k.oid, 'SELECT')
        THEN greatest(k.reltuples::bigint, pg_stat_get_live_tuples(k.oid), 0) END AS about
    FROM pg_constraint c JOIN pg_class k ON k.oid = c.conrelid
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.confrelid = 'nodes'::regclass AND pg_table_is_visible(k.oid) AND NOT EXISTS
      (SELECT 1 FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
       WHERE i.indrelid = c.conrelid AND i.indisvalid AND i.indkey[0] = c.conkey[1] AND m.amname IN ('btree', 'hash')
         AND coalesce(pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident(a.attname) || ' IS NOT NULL)', true))
    ORDER BY 1, 2`,
  sqlite: `SELECT m.name AS name, f."from" AS col, 1 AS ours, NULL AS about
    FROM sqlite_master m, pragma_foreign_key_list(m.name) f
    WHERE m.type = 'table' AND lower(f."table") = 'nodes' AND f.seq = 0 AND NOT EXISTS
      (SELECT 1 FROM pragma_index_list(m.name) l, pragma_index_info(l.name) i
       WHERE l.partial = 0 AND i.seqno = 0 AND i.name = f."from")
    ORDER BY 1, 2`,
} as const;

interface Found extends Omit<ScannedKey, "rows"> {
  /** Rows, where they cannot be counted. */
  readonly about: number | null;
}

async function keysOf(database: Database): Promise<readonly Found[]> {
  const { engine } = database;
  if (engine === "mysql") return [];
  const found = await ask(database, "looking for indexes", KEYS[engine]);
  return found.map(({ name, col, ours, about }) => {
    const [table, column] = [text(name) ?? "", text(col) ?? ""];
    const index = nameOf(table, column);
    return { table, column, ours: integer(ours) === 1, index, about: integer(about ?? null) };
  });
}

/** Tables that the server reads whole for each node that is deleted, with their rows. */
export async function scannedKeys(database: Database): Promise<readonly ScannedKey[]> {
  const found: ScannedKey[] = [];
  for (const { about, ...key } of await keysOf(database)) {
    const rows = about ?? (await countRows(database, quoted(database.engine, key.table)));
    found.push({ ...key, rows });
  }
  return found;
}

/** Tables that the server reads whole for the rows of some nodes. */
export async function scannedByNode(database: Database): Promise<ReadonlySet<string>> {
  const keys = await keysOf(database);
  return new Set(keys.filter(({ column }) => column === "node_id").map(({ table }) => table));
}

/** An index of ours, and what it is on. */
type Index = Pick<ScannedKey, "index" | "table" | "column">;

/** What a server says of an index by its name; null: there is none. */
const FOUND = {
  postgresql: "SELECT pg_get_indexdef(to_regclass(?)) AS made",
  sqlite: "SELECT sql AS made FROM sqlite_master WHERE type = 'index' AND name = ?",
} as const;

/**
 * How an index of that name stands: not there, as `createIndex` makes it, or somebody else's.
 *
 * @throws Error on MySQL, which makes its own
 */
export async function indexState(
  database: Database,
  { index, table, column }: Index,
): Promise<"absent" | "ours" | "other"> {
  const { engine } = database;
  if (engine === "mysql") throw new Error("MySQL indexes each key by itself");
  const name = engine === "postgresql" ? quoted(engine, index) : index;
  const [row] = await ask(database, `looking for ${index}`, FOUND[engine], [name]);
  const made = text(row?.made ?? null);
  if (made === null) return "absent";
  const plain = made.replaceAll('"', "").toLowerCase();
  const on = new RegExp(
    `^create index ${index} on (\\w+\\.)?${table} (using btree )?\\(${column}\\)$`,
  );
  return on.test(plain) ? "ours" : "other";
}

/** Milliseconds each try waits for the table: whoever wants it waits behind us as long. */
const LOCK_MS = 1000;
const TRIES = 3;
/** Between two tries. */
const PAUSE_MS = 500;

/** In its own transaction; writers of the table wait while it is made. */
export function createIndex(database: Database, { index, table, column }: Index): Promise<void> {
  const name = (word: string): string => quoted(database.engine, word);
  const sql = `CREATE INDEX ${name(index)} ON ${name(table)} (${name(column)})`;
  return change(database, `making the index ${index}`, sql);
}

/** One that is gone already is none too many, and somebody else's of that name stays. */
export async function dropIndex(database: Database, wanted: Index): Promise<void> {
  const { index } = wanted;
  if ((await indexState(database, wanted)) !== "ours") return;
  const sql = `DROP INDEX IF EXISTS ${quoted(database.engine, index)}`;
  await change(database, `dropping the index ${index}`, sql);
}

/** A busy table is asked again: to wait for it would hold up everybody else. */
async function change(database: Database, doing: string, sql: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await writing(database, async (trx) => {
        if (database.engine === "postgresql")
          await database.run(doing, () => trx.raw(`SET LOCAL lock_timeout = ${LOCK_MS}`));
        await database.run(doing, () => trx.raw(sql));
      });
    } catch (cause) {
      if (!(cause instanceof MigrationError) || tries === TRIES) throw cause;
      await sleep(PAUSE_MS);
    }
  }
}

/** 63 bytes are PostgreSQL's limit. */
function nameOf(table: string, column: string): string {
  return `nova2ironic_${table}_${column}`.slice(0, 63);
}
