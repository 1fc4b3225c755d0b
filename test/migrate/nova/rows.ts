import assert from "node:assert/strict";
import type { Knex } from "knex";
import { tableNames } from "../../../src/systems/database/identity.ts";
import type { Database } from "../../../src/systems/database/open.ts";
import { plain } from "../../../src/systems/database/rows.ts";
import type { TestDatabase } from "../../lab/index.ts";

/** Every row of a database: `table:id` -> its columns as text. */
export type Rows = ReadonlyMap<string, { readonly [column: string]: string | null }>;

export async function rowsOf({ db, engine }: TestDatabase): Promise<Rows> {
  const names = await tableNames(asDatabase(db, engine));
  const rows = new Map<string, { readonly [column: string]: string | null }>();
  for (const table of [...names].sort())
    for (const [at, row] of ((await db(table)) as readonly object[]).entries()) {
      const cells = Object.entries(row).map(([name, value]) => [name, textOf(value)] as const);
      const id = "id" in row ? Number(row.id) : `row ${at}`;
      rows.set(`${table}:${id}`, Object.fromEntries(cells));
    }
  return rows;
}

/** Now, as each engine says it. */
export const NOW = {
  ...{ mysql: "UTC_TIMESTAMP()", postgresql: "now() AT TIME ZONE 'utc'" },
  sqlite: "datetime('now')",
};

export function asDatabase(knex: Knex, engine: TestDatabase["engine"]): Database {
  const run = <T>(_: string, work: () => PromiseLike<T>): Promise<T> => Promise.resolve(work());
  // Nothing else of it is used.
  return { engine, knex, run } as Database;
}

function textOf(value: unknown): string | null {
  if (value instanceof Date) return value.toISOString();
  const got = plain(value);
  return got === null ? null : String(got);
}

/** Rows that came, went or changed, with the columns that did. */
export function differences(before: Rows, after: Rows): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    const [one, other] = [before.get(id), after.get(id)];
    if (one === undefined || other === undefined) found.set(id, [one ? "gone" : "new"]);
    else {
      const changed = Object.keys(one).filter((column) => one[column] !== other[column]);
      if (changed.length > 0) found.set(id, changed);
    }
  }
  return found;
}

/** How many rows changed in which way: `instances host` -> 900. */
export function changes(before: Rows, after: Rows): { readonly [change: string]: number } {
  const counts: Record<string, number> = {};
  for (const [id, columns] of differences(before, after)) {
    const change = `${id.slice(0, id.indexOf(":"))} ${columns.join(" ")}`;
    counts[change] = (counts[change] ?? 0) + 1;
  }
  return counts;
}

export function sameRows(found: Rows, wanted: Rows): void {
  assert.deepEqual([...differences(wanted, found)], []);
}
