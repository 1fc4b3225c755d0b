import type { InstanceRow } from "../../model/nova-rows.ts";
import { deletedNumber } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, type RawRow, select, text } from "../database/rows.ts";
import { type ByNode, openByNode } from "./by-node.ts";

/** Instances by their uuid, lower case; deleted ones too. */
type InstancesOf = (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;

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

/** Reads which live instances name nodes. */
export function openOnNodes(
  database: Database,
): Promise<ByNode<Pick<InstanceRow, "uuid" | "task_state">>> {
  return openByNode(
    database,
    { table: "instances", column: "node", live: "deleted = 0" },
    (ids) =>
      `SELECT uuid, node, task_state FROM instances WHERE deleted = 0 AND id ${ids} ORDER BY id`,
    (row) => ({ uuid: text(row.uuid) ?? "", task_state: text(row.task_state) }),
  );
}

export function instanceOf(row: RawRow): InstanceRow {
  return {
    id: integer(row.id) ?? 0,
    uuid: text(row.uuid) ?? "",
    host: text(row.host),
    node: text(row.node),
    task_state: text(row.task_state),
    deleted: deletedNumber(row.deleted),
  };
}

/** As written and in lower case: PostgreSQL and SQLite compare exactly. */
export function spellings(values: readonly (string | null)[]): readonly string[] {
  const given = values.filter((value): value is string => value !== null && value !== "");
  return [...new Set(given.flatMap((value) => [value, value.toLowerCase()]))];
}
