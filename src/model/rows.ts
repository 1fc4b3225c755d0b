import { grouped } from "../lib/grouped.ts";

/** Nullable columns of a table. */
export type Texts<Column extends string> = { readonly [column in Column]: string | null };
export type Numbers<Column extends string> = { readonly [column in Column]: number | null };

type Index<T> = (value: string | number | null) => readonly T[];

const INDEXES = new WeakMap<object, Map<PropertyKey, unknown>>();
const NONE: readonly never[] = [];

/** Rows by a column, in order, not case-sensitive, without empty values. Cached by column. */
export function index<T extends object>(rows: readonly T[], column: keyof T): Index<T> {
  const existing = INDEXES.get(rows) ?? new Map();
  INDEXES.set(rows, existing);
  const made = existing.get(column);
  if (made !== undefined) return made as Index<T>; // created below for the same column
  const found = grouped(rows, (row) => keyOf(row[column]));
  const of: Index<T> = (value) => (keyOf(value) === "" ? NONE : (found.get(keyOf(value)) ?? NONE));
  existing.set(column, of);
  return of;
}

function keyOf(value: unknown): string {
  return value === null || value === undefined ? "" : String(value).toLowerCase();
}

export interface TextSet {
  readonly has: (text: string) => boolean;
}

export function createTextSet(): TextSet & { readonly add: (text: string) => boolean } {
  const texts = new Set<string>();
  return {
    has: (text) => texts.has(text.toLowerCase()),
    /** @returns whether it is new */
    add(text) {
      const { size } = texts;
      return texts.add(text.toLowerCase()).size > size;
    },
  };
}
