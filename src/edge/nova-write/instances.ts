import type { InstanceRow } from "../../model/nova-rows.ts";
import { indexByText } from "../database/by-text.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, type RawRow, select, text } from "../database/rows.ts";

/** Instances by their uuid, lower case; deleted ones too. */
export type InstancesOf = (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;

export const INSTANCE = "id, uuid, host, node, task_state, deleted";

/** Reads which host and node instances name, as they are at each question. */
export function openInstances(database: Database): InstancesOf {
  const { knex, run } = database;
  return async (uuids) => {
    const wanted = spellings(uuids);
    if (wanted.length === 0) return new Map();
    const rows = await run("reading instances", () =>
      select(
        database,
        knex,
        `SELECT ${INSTANCE} FROM instances WHERE uuid IN (${marks(wanted)})`,
        wanted,
      ),
    );
    return new Map(rows.map(instanceOf).map((row) => [row.uuid.toLowerCase(), row]));
  };
}

/** Live instances by the node they name, lower case. */
export type OnNodes = (nodes: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;

/** Reads which live instances name nodes; that column has no index of its own. */
export async function openOnNodes(database: Database): Promise<OnNodes> {
  const { knex, run } = database;
  const named = "deleted = 0 AND node IS NOT NULL";
  const placed = await indexByText(database, knex, "instances", "node", named);
  return async (nodes) => {
    const found = new Map<string, string[]>();
    const ids = placed.ids(nodes);
    if (ids.length === 0) return found;
    const rows = await run("reading instances", () =>
      select(
        database,
        knex,
        `SELECT uuid, node FROM instances WHERE ${named} AND id IN (${marks(ids)}) ORDER BY id`,
        ids,
      ),
    );
    for (const row of rows) {
      const node = (text(row.node) ?? "").toLowerCase();
      found.set(node, [...(found.get(node) ?? []), text(row.uuid) ?? ""]);
    }
    return found;
  };
}

export function instanceOf(row: RawRow): InstanceRow {
  return {
    id: integer(row.id) ?? 0,
    uuid: text(row.uuid) ?? "",
    host: text(row.host),
    node: text(row.node),
    task_state: text(row.task_state),
    deleted: integer(row.deleted),
  };
}

/** As written and in lower case: PostgreSQL and SQLite compare exactly. */
export function spellings(values: readonly (string | null)[]): readonly string[] {
  const given = values.filter((value): value is string => value !== null && value !== "");
  return [...new Set(given.flatMap((value) => [value, value.toLowerCase()]))];
}
