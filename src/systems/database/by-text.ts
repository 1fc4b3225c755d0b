import { inOrder, sql } from "./read.ts";
import { number, type Readable, string } from "./rows.ts";

/** A key is a 22-bit hash and a 31-bit id, an integer that a double holds exactly. */
const ID_SPAN = 2 ** 31;
const HASHES = 2 ** 22;

/**
 * Reads a column without an index once, 8 bytes per row. A query by text would scan the table.
 *
 * @param live condition for relevant rows
 */
export async function indexByText(database: Readable, table: string, column: string, live: string) {
  // Node stores these numbers in 8 bytes each.
  const keys: number[] = [];
  const fields = { id: number, name: sql(column, string) };
  for await (const page of inOrder(database, fields, table, `${live} AND id > -1`))
    for (const { id, name } of page) keys.push(keyOf(name) + id);
  const sorted = Float64Array.from(keys).sort();
  return {
    /** Ids of rows with one of these texts, case-insensitive. Hash collisions may add other ids. */
    ids: (texts: readonly string[]): readonly number[] => [
      ...new Set(texts.flatMap((name) => idsAt(sorted, keyOf(name)))),
    ],
  };
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
