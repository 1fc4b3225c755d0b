import type { Knex } from "knex";
import type { Database } from "./open.ts";
import { ask, integer, text, whole } from "./rows.ts";

/** Finds rows by a column the server has no index on. */
export interface ByText {
  /** Ids of the rows whose text is one of these, upper and lower case the same; a few others may be among them. */
  readonly ids: (texts: readonly string[]) => readonly number[];
}

const PAGE = 2_000;
/** A key is a hash of 22 bits and an id of 31: together a whole number that a double holds. */
const ID_SPAN = 2 ** 31;
const HASHES = 2 ** 22;

/**
 * Reads a column once, so that later questions go by primary key: asking the server about each
 * batch would make it walk the whole table each time. Eight bytes a row stay in memory.
 *
 * @param live condition on the rows that count
 */
export async function indexByText(
  database: Pick<Database, "engine" | "knex" | "run">,
  on: Knex,
  table: string,
  column: string,
  live: string,
): Promise<ByText> {
  let keys = new Float64Array(PAGE);
  let used = 0;
  for (let after = -1; ; ) {
    const sql = `SELECT id, ${whole(database.engine, column)} AS t FROM ${table} WHERE ${live} AND id > ${after} ORDER BY id LIMIT ${PAGE}`;
    const page = await ask(database, `reading ${table}`, sql, [], on);
    if (used + page.length > keys.length) keys = grown(keys);
    for (const row of page) keys[used++] = keyOf(text(row.t) ?? "") + (integer(row.id) ?? 0);
    if (page.length < PAGE) break;
    after = integer(page.at(-1)?.id) ?? 0;
  }
  const sorted = keys.slice(0, used).sort();
  return { ids: (texts) => [...new Set(texts.flatMap((name) => idsAt(sorted, keyOf(name))))] };
}

function grown(keys: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const more = new Float64Array(keys.length * 2);
  more.set(keys);
  return more;
}

/** FNV-1a, folded; the id is added to it. */
function keyOf(name: string): number {
  const lower = name.toLowerCase();
  let hash = 0x811c9dc5;
  for (let at = 0; at < lower.length; at++)
    hash = Math.imul(hash ^ lower.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 22)) & (HASHES - 1)) * ID_SPAN;
}

function idsAt(keys: Float64Array, from: number): readonly number[] {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  const ids: number[] = [];
  for (; (keys[low] ?? Number.POSITIVE_INFINITY) < from + ID_SPAN; low++)
    ids.push((keys[low] ?? from) - from);
  return ids;
}
