import type { InstanceRow } from "../../model/nova-rows.ts";
import { deletedNumber } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { askIn, integer, type RawRow, spellings, text } from "../database/rows.ts";

/** Instances by their uuid, lower case; deleted ones too. */
type InstancesOf = (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;

export const INSTANCE = "id, uuid, host, node, task_state, deleted";

/** Reads which host and node instances name, as they are at each question. */
export function openInstances(database: Database): InstancesOf {
  return async (uuids) => {
    const sql = `SELECT ${INSTANCE} FROM instances WHERE uuid IN (...)`;
    const rows = await askIn(database, "reading instances", sql, spellings(uuids));
    return new Map(rows.map(instanceOf).map((row) => [row.uuid.toLowerCase(), row]));
  };
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
