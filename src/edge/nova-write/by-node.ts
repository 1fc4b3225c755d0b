import { indexByText } from "../database/by-text.ts";
import type { Database } from "../database/open.ts";
import { marks, type RawRow, select, text } from "../database/rows.ts";

/** Rows by the node they name, lower case. */
export type ByNode<T> = (nodes: readonly string[]) => Promise<ReadonlyMap<string, readonly T[]>>;

/** Which rows of a table name machines. */
interface Naming {
  readonly table: "compute_nodes" | "instances";
  readonly column: "hypervisor_hostname" | "node";
  /** Condition on the rows that count, for the table by its own name. */
  readonly live: string;
}

/**
 * Reads rows by the machine they name; neither column has an index of its own. Every row that was
 * found is looked at again by its id, as it is by then.
 *
 * @param sql what to select of rows by the condition it is given on their ids; it names the column too
 */
export async function openByNode<T>(
  database: Database,
  { table, column, live }: Naming,
  sql: (ids: string) => string,
  of: (row: RawRow) => T,
): Promise<ByNode<T>> {
  const { knex, run } = database;
  const placed = await indexByText(
    database,
    knex,
    table,
    column,
    `${live} AND ${column} IS NOT NULL`,
  );
  return async (nodes) => {
    const found = new Map<string, T[]>();
    const ids = placed.ids(nodes);
    if (ids.length === 0) return found;
    const rows = await run(`reading ${table}`, () =>
      select(database, knex, sql(`IN (${marks(ids)})`), ids),
    );
    for (const row of rows) {
      const node = (text(row[column]) ?? "").toLowerCase();
      found.set(node, [...(found.get(node) ?? []), of(row)]);
    }
    return found;
  };
}
