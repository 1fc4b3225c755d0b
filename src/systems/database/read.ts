import { groupedBy } from "../../lib/grouped.ts";
import type { Engine } from "../../model/database.ts";
import {
  ask,
  blob,
  digits,
  integer,
  number,
  quoted,
  type RawRow,
  type Readable,
  string,
} from "./rows.ts";

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

/** @param from as `ask` accepts it @throws MigrationError as `run` of a database */
export async function read<F extends Fields>(
  database: Readable,
  fields: F,
  from: string,
  values: readonly unknown[] = [],
): Promise<readonly RowOf<F>[]> {
  const doing = `reading ${/\w+/.exec(from)?.[0]}`;
  const question = `SELECT ${listed(database.engine, fields)} FROM ${from}`;
  return (await ask(database, doing, question, values)).map(rowReader(fields));
}

const PAGE = 2000;

/**
 * Pages in order of id. Rows that change during the reading may be missed.
 *
 * @param table with its alias, if others are joined
 * @param where condition for relevant rows, without a bound of id: SQLite uses only one, the first
 * @param values bindings of the fields and the condition
 */
export async function* inOrder<F extends Fields>(
  database: Readable,
  fields: F,
  table: string,
  where: string,
  values: readonly unknown[] = [],
): AsyncGenerator<readonly RowOf<F>[]> {
  const [, alias] = /^\w+ (\w+)/.exec(table) ?? [];
  const id = alias === undefined ? "id" : `${alias}.id`;
  const what = `SELECT ${id} AS at_id, ${listed(database.engine, fields)} FROM ${table} WHERE ${where}`;
  for (let onward = ""; ; ) {
    const sql = `${what} ${onward} ORDER BY ${id} LIMIT ${PAGE}`;
    const rows = await ask(database, `reading ${/\w+/.exec(table)?.[0]}`, sql, values);
    yield rows.map(rowReader(fields));
    if (rows.length < PAGE) return;
    onward = `AND ${id} > ${digits(rows.at(-1)?.at_id)}`;
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
