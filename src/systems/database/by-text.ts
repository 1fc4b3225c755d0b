import { inOrder, sql } from "./read.ts";
import { number, type Readable, string } from "./rows.ts";

/**
 * Reads a column without an index once. A query by text would scan the table.
 *
 * @param live condition for relevant rows
 * @returns ids of rows with one of the texts, case-insensitive
 */
export async function indexByText(database: Readable, table: string, column: string, live: string) {
  const found = new Map<string, number[]>();
  const fields = { id: number, name: sql(column, string) };
  for await (const page of inOrder(database, fields, table, `${live} AND id > -1`))
    for (const { id, name } of page) {
      const key = name.toLowerCase();
      const ids = found.get(key);
      if (ids === undefined) found.set(key, [id]);
      else ids.push(id);
    }
  return (texts: readonly string[]): readonly number[] => [
    ...new Set(texts.flatMap((name) => found.get(name.toLowerCase()) ?? [])),
  ];
}
