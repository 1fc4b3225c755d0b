import { groupedBy } from "../../lib/grouped.ts";
import type { Engine } from "../../model/database.ts";
import {
  ask,
  askIn,
  blob,
  digits,
  integer,
  number,
  type RawRow,
  type Readable,
  string,
} from "./rows.ts";

/** Indexes of a table by their first column. */
type Indexes = ReadonlyMap<string, readonly string[]>;

/** By `run`, which a database and its transactions share. */
const INDEXES = new WeakMap<Readable["run"], Map<string, Promise<Indexes>>>();

/**
 * Forces an index, because with outdated statistics MySQL and MariaDB scan the whole table, and
 * with FOR UPDATE lock others' rows. They renew statistics every 10 s at most, never without
 * `innodb_stats_auto_recalc`.
 *
 * @param alias of the table, or empty
 * @source MariaDB, "Index Hints"; 10.11:storage/innobase/dict/dict0stats_bg.cc, MIN_RECALC_INTERVAL
 */
export async function keyed(database: Readable, table: string, column: string, alias = "") {
  const aliased = alias === "" ? table : `${table} ${alias}`;
  if (database.engine !== "mysql") return aliased;
  const indexes = (await indexesOf(database, table)).get(column) ?? [];
  if (indexes.length === 0) return aliased;
  return `${aliased} FORCE INDEX (${indexes.map((name) => quoted("mysql", name)).join(",")})`;
}

function indexesOf(database: Readable, table: string): Promise<Indexes> {
  const tables = INDEXES.get(database.run) ?? new Map<string, Promise<Indexes>>();
  INDEXES.set(database.run, tables);
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

type Reader = (value: unknown) => unknown;

/** By result name: the reader of a column, or an expression and its reader. */
export interface Fields {
  readonly [name: string]: Reader | readonly [sql: string, reader: Reader];
}

type Value<F> = F extends readonly [string, (value: unknown) => infer T]
  ? T
  : F extends (value: unknown) => infer T
    ? T
    : never;

export function sql<R extends Reader>(text: string, reader: R): readonly [string, R] {
  return [text, reader];
}

export type RowOf<F extends Fields> = { readonly [N in keyof F]: Value<F[N]> };

/**
 * `(...)` in the FROM clause stands for the values.
 *
 * @throws MigrationError as `run` of a database
 */
export async function read<F extends Fields>(
  database: Readable,
  fields: F,
  from: string,
  values: readonly unknown[] = [],
): Promise<readonly RowOf<F>[]> {
  const doing = `reading ${from.replace(/ .*/s, "")}`;
  const put = from.includes("(...)") ? askIn : ask;
  const question = `SELECT ${listed(database.engine, fields)} FROM ${from}`;
  return (await put(database, doing, question, values)).map(rowReader(fields));
}

const PAGE = 2000;

/**
 * Pages in order of id. Rows that change during the reading may be missed.
 *
 * @param where condition for relevant rows, without a bound of id: SQLite uses only one, the first
 * @param values bindings of the fields
 */
export async function* inOrder<F extends Fields>(
  database: Readable,
  fields: F,
  table: string,
  where: string,
  values: readonly unknown[] = [],
): AsyncGenerator<readonly RowOf<F>[]> {
  const what = `SELECT id AS at_id, ${listed(database.engine, fields)} FROM ${table} WHERE ${where}`;
  for (let onward = ""; ; ) {
    const sql = `${what} ${onward} ORDER BY id LIMIT ${PAGE}`;
    const rows = await ask(database, `reading ${table}`, sql, values);
    yield rows.map(rowReader(fields));
    if (rows.length < PAGE) return;
    onward = `AND id > ${digits(rows.at(-1)?.at_id)}`;
  }
}

function listed(engine: Engine, fields: Fields): string {
  const columns = Object.entries(fields).map(([name, field]) => {
    const [text, reader] = typeof field === "function" ? [quoted(engine, name), field] : field;
    // An index can sort by a column, but not by an expression.
    const isNumber = reader === number || reader === integer;
    return `${isNumber ? text : blob(engine, text)} AS ${quoted(engine, name)}`;
  });
  return columns.join(", ");
}

export function rowReader<F extends Fields>(fields: F): (row: RawRow) => RowOf<F> {
  const readers = Object.entries(fields).map(
    ([name, field]) => [name, typeof field === "function" ? field : field[1]] as const,
  );
  return (row) => {
    const made: Record<string, unknown> = {};
    for (const [name, reader] of readers) made[name] = reader(row[name]);
    // Each reader returns the type of its field.
    return made as RowOf<F>;
  };
}

/** Values of a column by another column, in order. */
export function valuesBy<T, K extends keyof T, V extends keyof T>(
  rows: Iterable<T>,
  key: K,
  value: V,
): ReadonlyMap<T[K], readonly T[V][]> {
  return groupedBy(
    rows,
    (row) => row[key],
    (row) => row[value],
  );
}

export function quoted(engine: Engine, name: string): string {
  const mark = engine === "mysql" ? "`" : '"';
  return mark + name.replaceAll(mark, mark + mark) + mark;
}

/**
 * Reads a column without an index once. A query by text would scan the table.
 *
 * @param live condition for relevant rows
 * @returns ids of rows with one of the texts, case-insensitive
 */
export async function indexByText(database: Readable, table: string, column: string, live: string) {
  // Most texts have one row, and an array for each would double the memory.
  const first = new Map<string, number>();
  const further = new Map<string, number[]>();
  const fields = { id: number, name: sql(column, string) };
  for await (const page of inOrder(database, fields, table, live))
    for (const { id, name } of page) {
      const key = name.toLowerCase();
      const ids = further.get(key);
      if (!first.has(key)) first.set(key, id);
      else if (ids === undefined) further.set(key, [id]);
      else ids.push(id);
    }
  return (texts: readonly string[]): readonly number[] => {
    const keys = texts.map((name) => name.toLowerCase());
    return [
      ...new Set(keys.flatMap((key) => [first.get(key) ?? [], further.get(key) ?? []].flat())),
    ];
  };
}
