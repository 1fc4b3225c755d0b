import { ask, integer, type Readable, text, whole } from "./rows.ts";

export interface ByText {
  /** Ids of rows with one of these texts, case-insensitive. Hash collisions may add other ids. */
  readonly ids: (texts: readonly string[]) => readonly number[];
}

const PAGE = 2_000;
/** A key is a 22-bit hash and a 31-bit id, an integer that a double holds exactly. */
const ID_SPAN = 2 ** 31;
const HASHES = 2 ** 22;

/**
 * Reads a column without an index once, 8 bytes per row. A query by text would scan the table.
 *
 * @param live condition for relevant rows
 */
export async function indexByText(
  database: Readable,
  table: string,
  column: string,
  live: string,
): Promise<ByText> {
  let keys = new Float64Array(PAGE);
  let used = 0;
  for (let after = -1; ; ) {
    const sql = `SELECT id, ${whole(database.engine, column)} AS t FROM ${table} WHERE ${live} AND id > ${after} ORDER BY id LIMIT ${PAGE}`;
    const page = await ask(database, `reading ${table}`, sql);
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

/** FNV-1a, folded to 22 bits. */
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
