import { quoted } from "./read.ts";
import { ask, type RawRow, type Readable, type Runner, string } from "./rows.ts";

/** Indexes by the column they begin with, of one table. */
type Indexes = ReadonlyMap<string, readonly string[]>;

const KNOWN = new WeakMap<Runner, Map<string, Promise<Indexes>>>();

/**
 * A table, of which rows with some values in a column are asked for, as FROM has it. MySQL and MariaDB read the whole
 * table where that seems cheaper by statistics of when it was empty: they renew them ten seconds apart at best, and
 * not at all where `innodb_stats_auto_recalc` is off. With FOR UPDATE that locks the rows of others, too.
 *
 * @param alias of the table in the statement; empty: none
 * @param on a transaction, where the statement is one of it
 * @throws MigrationError as `run` of a database
 * @source MariaDB, "Index Hints"; 10.11:storage/innobase/dict/dict0stats_bg.cc, MIN_RECALC_INTERVAL
 */
export async function keyed(
  database: Readable,
  table: string,
  column: string,
  alias = "",
  on: Runner = database.knex,
): Promise<string> {
  const named = alias === "" ? table : `${table} ${alias}`;
  if (database.engine !== "mysql") return named;
  const indexes = (await indexesOf(database, table, on)).get(column) ?? [];
  if (indexes.length === 0) return named;
  return `${named} FORCE INDEX (${indexes.map((name) => quoted("mysql", name)).join(",")})`;
}

/** Asked once. */
function indexesOf(database: Readable, table: string, on: Runner): Promise<Indexes> {
  const tables = KNOWN.get(database.knex) ?? new Map<string, Promise<Indexes>>();
  KNOWN.set(database.knex, tables);
  const known = tables.get(table) ?? readIndexes(database, table, on);
  tables.set(table, known);
  known.catch(() => tables.delete(table));
  return known;
}

/** A view has none, and one that the server is told to ignore counts as none. */
async function readIndexes(database: Readable, table: string, on: Runner): Promise<Indexes> {
  const sql =
    "SELECT * FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND seq_in_index = 1";
  const rows = await ask(database, `reading the indexes of ${table}`, sql, [table], on);
  const found = new Map<string, string[]>();
  for (const row of rows.map(inCapitals)) {
    const isHidden = row.IS_VISIBLE === "NO" || row.IGNORED === "YES";
    if (isHidden || !/^(BTREE|HASH)$/.test(string(row.INDEX_TYPE))) continue;
    const column = string(row.COLUMN_NAME).toLowerCase();
    found.set(column, [...(found.get(column) ?? []), string(row.INDEX_NAME)]);
  }
  return found;
}

/** Servers differ in how they write the names of these columns, and in which there are. */
function inCapitals(row: RawRow): RawRow {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name.toUpperCase(), value]),
  );
}
