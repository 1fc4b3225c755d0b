import { inOrder, sql } from "./read.ts";
import { number, type Readable, string } from "./rows.ts";

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
  for await (const page of inOrder(database, fields, table, `${live} AND id > -1`))
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
