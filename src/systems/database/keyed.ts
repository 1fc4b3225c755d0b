import { quoted } from "./read.ts";
import { ask, type RawRow, type Readable, string } from "./rows.ts";

/** Indexes of a table by their first column. */
type Indexes = ReadonlyMap<string, readonly string[]>;

/** By `run`, which a database and its transactions share. */
const KNOWN = new WeakMap<Readable["run"], Map<string, Promise<Indexes>>>();

/**
 * Forces an index, because with outdated statistics MySQL and MariaDB scan the whole table, and
 * with FOR UPDATE lock others' rows. They renew statistics every 10 s at most, never without
 * `innodb_stats_auto_recalc`.
 *
 * @param alias of the table, or empty
 * @source MariaDB, "Index Hints"; 10.11:storage/innobase/dict/dict0stats_bg.cc, MIN_RECALC_INTERVAL
 */
export async function keyed(
  database: Readable,
  table: string,
  column: string,
  alias = "",
): Promise<string> {
  const aliased = alias === "" ? table : `${table} ${alias}`;
  if (database.engine !== "mysql") return aliased;
  const indexes = (await indexesOf(database, table)).get(column) ?? [];
  if (indexes.length === 0) return aliased;
  return `${aliased} FORCE INDEX (${indexes.map((name) => quoted("mysql", name)).join(",")})`;
}

function indexesOf(database: Readable, table: string): Promise<Indexes> {
  const tables = KNOWN.get(database.run) ?? new Map<string, Promise<Indexes>>();
  KNOWN.set(database.run, tables);
  const cached = tables.get(table) ?? readIndexes(database, table);
  tables.set(table, cached);
  cached.catch(() => tables.delete(table));
  return cached;
}

/** Without ignored and invisible indexes. A view has none. */
async function readIndexes(database: Readable, table: string): Promise<Indexes> {
  const sql =
    "SELECT * FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND seq_in_index = 1";
  const rows = await ask(database, `reading the indexes of ${table}`, sql, [table]);
  const found = new Map<string, string[]>();
  for (const raw of rows) {
    // Servers differ in the case of these column names.
    const names = Object.entries(raw).map(([name, value]) => [name.toUpperCase(), value]);
    const row: RawRow = Object.fromEntries(names);
    const isHidden = row.IS_VISIBLE === "NO" || row.IGNORED === "YES";
    if (isHidden || !/^(BTREE|HASH)$/.test(string(row.INDEX_TYPE))) continue;
    const column = string(row.COLUMN_NAME).toLowerCase();
    found.set(column, [...(found.get(column) ?? []), string(row.INDEX_NAME)]);
  }
  return found;
}
