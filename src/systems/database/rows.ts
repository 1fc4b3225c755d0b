import { isUtf8 } from "node:buffer";
import type { Engine } from "../../model/database.ts";

export type RawRow = { readonly [column: string]: unknown };

/** A connection or a transaction. */
export interface Runner {
  readonly engine: Engine;
  readonly knex: {
    readonly raw: (sql: string, bindings: readonly never[]) => PromiseLike<unknown>;
  };
}

export interface Readable extends Runner {
  readonly run: <T>(doing: string, work: () => PromiseLike<T>) => Promise<T>;
}

/**
 * @param sql as `keyed` accepts it; `IN (...)` stands for any number of values, and nothing is
 *   queried without values
 * @throws MigrationError as `run` of a database
 */
export async function ask(
  database: Readable,
  doing: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly RawRow[]> {
  const text = await keyed(database, sql);
  const put = (sql: string, bindings: readonly unknown[]) =>
    database.run(doing, () => select(database, sql, bindings));
  if (!text.includes("IN (...)")) return put(text, values);
  const found: (readonly RawRow[])[] = [];
  for (const some of inPortions(values, BINDINGS)) {
    const among = amongOf(database.engine, some);
    found.push(await put(text.replace("IN (...)", among.sql), among.values));
  }
  return found.flat();
}

/** Indexes by table and first column. By `run`, which a database and its transactions share. */
const INDEXES = new WeakMap<Readable["run"], Map<string, Promise<ReadonlyMap<string, string>>>>();

/**
 * `{table.column alias}` is a table that is read by the index of the column. Forces the index, because
 * with outdated statistics MySQL and MariaDB scan the whole table, and with FOR UPDATE lock others'
 * rows. They renew statistics every 10 s at most, never without `innodb_stats_auto_recalc`.
 *
 * @source MariaDB, "Index Hints"; 10.11:storage/innobase/dict/dict0stats_bg.cc, MIN_RECALC_INTERVAL
 */
export async function keyed(database: Readable, sql: string): Promise<string> {
  let text = sql;
  for (const [all, table = "", column = "", alias = ""] of sql.matchAll(
    /\{(\w+)\.(\w+)( \w+)?\}/g,
  )) {
    const indexes = database.engine === "mysql" ? await indexesOf(database, table) : null;
    const names = indexes?.get(column);
    const hint = names === undefined ? "" : ` FORCE INDEX (${names})`;
    text = text.replace(all, () => `${table}${alias}${hint}`);
  }
  return text;
}

function indexesOf(database: Readable, table: string): Promise<ReadonlyMap<string, string>> {
  const tables = INDEXES.get(database.run) ?? new Map<string, ReturnType<typeof readIndexes>>();
  INDEXES.set(database.run, tables);
  const cached = tables.get(table) ?? readIndexes(database, table);
  tables.set(table, cached);
  cached.catch(() => tables.delete(table));
  return cached;
}

/** Without ignored and invisible indexes. A view has none. */
async function readIndexes(database: Readable, table: string) {
  const sql =
    "SELECT * FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND seq_in_index = 1";
  const found = new Map<string, string>();
  for (const raw of await ask(database, `reading the indexes of ${table}`, sql, [table])) {
    // Servers differ in the case of these column names.
    const names = Object.entries(raw).map(([name, value]) => [name.toUpperCase(), value]);
    const row: RawRow = Object.fromEntries(names);
    const isHidden = row.IS_VISIBLE === "NO" || row.IGNORED === "YES";
    if (isHidden || !/^(BTREE|HASH)$/.test(string(row.INDEX_TYPE))) continue;
    const [column, name] = [lower(row.COLUMN_NAME), quoted("mysql", string(row.INDEX_NAME))];
    found.set(column, [found.get(column), name].filter(Boolean).join(","));
  }
  return found;
}

export function quoted(engine: Engine, name: string): string {
  const mark = engine === "mysql" ? "`" : '"';
  return mark + name.replaceAll(mark, mark + mark) + mark;
}

/** The first value of the first row, or null if it is not an integer. */
export async function askNumber(...question: Parameters<typeof ask>): Promise<number | null> {
  const [row] = await ask(...question);
  return integer(Object.values(row ?? {})[0]);
}

export async function countRows(database: Readable, table: string): Promise<number> {
  const sql = `SELECT count(*) AS n FROM ${table}`;
  return (await askNumber(database, `counting ${table}`, sql)) ?? 0;
}

/** Extracts the rows from knex.raw's result, which differs by driver. */
export async function select(
  { engine, knex }: Runner,
  sql: string,
  bindings: readonly unknown[] = [],
): Promise<readonly RawRow[]> {
  // knex's binding type is narrower than the drivers'.
  const answer = await knex.raw(sql, bindings as readonly never[]);
  if (engine === "mysql") return (answer as [RawRow[]])[0];
  if (engine === "postgresql") return (answer as { rows: RawRow[] }).rows;
  return answer as RawRow[];
}

/**
 * Integers beyond 2^53 become decimal strings, bytes text, and JSON and array columns JSON. Only
 * NULL becomes null.
 */
export function plain(value: unknown): string | number | boolean | null {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "bigint": {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : value.toString();
    }
    default:
      if (value === null || value === undefined) return null;
      if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return decoded(value);
      return JSON.stringify(value);
  }
}

function decoded(value: ArrayBuffer | ArrayBufferView): string {
  const bytes =
    value instanceof ArrayBuffer
      ? Buffer.from(value)
      : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
}

export function integer(value: unknown): number | null {
  const got = plain(value);
  if (typeof got === "number") return got;
  if (typeof got === "boolean") return got ? 1 : 0;
  if (got === null || !/^-?\d{1,16}$/.test(got)) return null;
  const number = Number(got);
  return Number.isSafeInteger(number) ? number : null;
}

/** An id, inexact beyond 2^53. */
export function near(value: unknown): number {
  return integer(value) ?? (Number(text(value) ?? 0) || 0);
}

/** An exact id for a statement. */
export function digits(value: unknown): string {
  const got = text(value) ?? "";
  return /^-?\d+$/.test(got) ? got : String(integer(value));
}

export function number(value: unknown): number {
  return integer(value) ?? 0;
}

export function text(value: unknown): string | null {
  const got = plain(value);
  return got === null ? null : String(got);
}

export function string(value: unknown): string {
  return text(value) ?? "";
}

/** Reads TINYINT(1), BOOLEAN and SQLite's 0/1. Null for no value. */
export function boolean(value: unknown): boolean | null {
  const got = plain(value);
  if (got === null || got === "") return null;
  return got === true || got === 1 || got === "1" || got === "t" || got === "true";
}

export function isTrue(value: unknown): boolean {
  return boolean(value) === true;
}

/** Naive UTC, `2014-05-01 10:00:00`, with a fraction unless it is zero. */
export function time(value: unknown): string | null {
  const got = text(value);
  if (got === null) return null;
  // The most frequent format.
  if (/^[12]\d{3}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(got)) return onCalendar(got) ? got : null;
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?(?! BC)/.exec(got);
  if (match === null || !onCalendar(got)) return null;
  const fraction = (match[3] ?? "").replace(/0+$/, "");
  return `${match[1]} ${match[2]}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Whether the date exists and every database accepts it. */
function onCalendar(text: string): boolean {
  // Without Date, for speed: called for every time of every row.
  const two = (at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528;
  const [year, month, day] = [two(0) * 100 + two(2), two(5), two(8)];
  if (year < 1000 || two(11) > 23 || two(14) > 59 || two(17) > 59) return false;
  const leaps = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 ? (leaps ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return month > 0 && month < 13 && day > 0 && day <= days;
}

/**
 * SQLite's driver truncates text at a NUL and ends the process on invalid UTF-8, so text is read as
 * bytes, which `plain` decodes. Only short text of printable ASCII is read as text: there the check
 * takes less time than the bytes do. GLOB compares up to the first NUL only.
 */
export function blob(engine: Engine, expression: string): string {
  if (engine !== "sqlite") return expression;
  const bytes = `octet_length(${expression})`;
  const isAscii = `${bytes} < 48 AND ${expression} NOT GLOB '*[^ -~]*' AND length(${expression}) = ${bytes}`;
  return `CASE WHEN typeof(${expression}) <> 'text' OR (${isAscii}) THEN ${expression} ELSE CAST(${expression} AS BLOB) END`;
}

export function garbled(value: unknown): boolean {
  return value instanceof ArrayBuffer || value instanceof Uint8Array ? !isUtf8(value) : false;
}

const NONE: readonly string[] = [];

/** Columns with text that is not UTF-8. Only SQLite returns such text. */
export function garbledColumns(engine: Engine, row: RawRow): readonly string[] {
  return engine === "sqlite" ? Object.keys(row).filter((column) => garbled(row[column])) : NONE;
}

export function columnList(
  { engine }: { readonly engine: Engine },
  names: readonly string[],
  table = "",
): string {
  const of = table === "" ? "" : `${table}.`;
  return names.map((name) => `${blob(engine, of + name)} AS ${name}`).join(", ");
}

/** Bindings per statement. SQLite accepts 32,766, PostgreSQL 65,535. */
export const BINDINGS = 20_000;

/** Values per query, to limit memory. */
const SOME = 2000;

export function* inPortions<T>(values: Iterable<T>, size = SOME): Generator<readonly T[]> {
  let buffer: T[] = [];
  for (const value of values) {
    buffer.push(value);
    if (buffer.length < size) continue;
    yield buffer;
    buffer = [];
  }
  if (buffer.length > 0) yield buffer;
}

export function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(",");
}

/** A condition for several values. PostgreSQL handles an array faster than many parameters. */
export function amongOf(engine: Engine, values: readonly unknown[]) {
  return engine === "postgresql"
    ? { sql: "= ANY (?)", values: [values] }
    : { sql: `IN (${marks(values)})`, values };
}

/**
 * Each text as written and in lower case, because PostgreSQL and SQLite compare case-sensitively.
 */
export function spellings(texts: readonly (string | null)[]): readonly string[] {
  const nonEmpty = texts.filter((one): one is string => one !== null && one !== "");
  return [...new Set(nonEmpty.flatMap((one) => [one, one.toLowerCase()]))];
}

/** Servers differ in case sensitivity. */
export function lower(value: unknown): string {
  return (text(value) ?? "").toLowerCase();
}

/** Seconds since a UTC time in a column, by the database's clock. */
export function ageOf(engine: Engine, column: string): string {
  return {
    mysql: `TIMESTAMPDIFF(SECOND, ${column}, UTC_TIMESTAMP())`,
    postgresql: `CAST(EXTRACT(EPOCH FROM (now() AT TIME ZONE 'utc') - ${column}) AS bigint)`,
    sqlite: `CAST(strftime('%s', 'now') - strftime('%s', ${column}) AS integer)`,
  }[engine];
}
