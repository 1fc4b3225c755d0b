import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../../model/database.ts";
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

/**
 * What stands under the name of an index beside its table, and whether it is one that `createIndex` makes: on one
 * column, all rows, in its usual order, and nothing more. PostgreSQL's text of an index depends on how its names look,
 * SQLite's is the statement that made it.
 */
const FOUND = {
  postgresql: `SELECT n.nspname AS place, coalesce(i.indrelid = t.oid AND i.indkey::text = a.attnum::text
      AND i.indoption::text = '0' AND i.indpred IS NULL AND NOT i.indisunique AND m.amname = 'btree', false)::int AS ours
    FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
      JOIN pg_class x ON x.relnamespace = t.relnamespace AND x.relname = ?
      LEFT JOIN pg_index i ON i.indexrelid = x.oid LEFT JOIN pg_am m ON m.oid = x.relam
      LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = ?
    WHERE t.oid = to_regclass(?)`,
  sqlite: "SELECT 'main' AS place, sql = ? AS ours FROM sqlite_master WHERE name = ?",
} as const;

interface Standing {
  readonly state: "absent" | "ours" | "other";
  /** The schema of its table. */
  readonly place: string;
}

async function standing(database: Database, { index, table, column }: Index): Promise<Standing> {
  const { engine } = database;
  if (engine === "mysql") throw new Error("MySQL indexes each key by itself");
  const values =
    engine === "sqlite"
      ? [statementOf(engine, { index, table, column }), index]
      : [index, column, quoted(engine, table)];
  const [row] = await ask(database, `looking for ${index}`, FOUND[engine], values);
  if (row === undefined) return { state: "absent", place: "" };
  return { state: integer(row.ours) === 1 ? "ours" : "other", place: text(row.place) ?? "" };
}

/**
 * How an index of that name stands: not there, as `createIndex` makes it, or somebody else's.
 *
 * @throws Error on MySQL, which makes its own
 */
export async function indexState(database: Database, wanted: Index): Promise<Standing["state"]> {
  return (await standing(database, wanted)).state;
}

/** Milliseconds each try waits for the table: whoever wants it waits behind us as long. */
const LOCK_MS = 1000;
const TRIES = 3;
/** Between two tries. */
const PAUSE_MS = 500;

/** In its own transaction; writers of the table wait while it is made. */
export function createIndex(database: Database, wanted: Index): Promise<void> {
  return change(database, `making the index ${wanted.index}`, statementOf(database.engine, wanted));
}

function statementOf(engine: Engine, { index, table, column }: Index): string {
  const name = (word: string): string => quoted(engine, word);
  return `CREATE INDEX ${name(index)} ON ${name(table)} (${name(column)})`;
}

/**
 * One that is gone already is none too many.
 *
 * @throws MigrationError N2I-E207 when what has that name is not as `createIndex` makes it: it stays
 */
export async function dropIndex(database: Database, wanted: Index): Promise<void> {
  const { index, table, column } = wanted;
  const { state, place } = await standing(database, wanted);
  if (state === "absent") return;
  if (state === "other") {
    const why = `it is not as this tool makes it, on ${table}.${column} alone; look whose it is, then drop or rename it`;
    throw new MigrationError("N2I-E207", why);
  }
  const name = (word: string): string => quoted(database.engine, word);
  const sql = `DROP INDEX IF EXISTS ${name(place)}.${name(index)}`;
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
