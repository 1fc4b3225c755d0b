import type { InstanceRow } from "../../model/nova/nova-rows.ts";
import { deletedNumber } from "../database/deleted.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { keyed, read } from "../database/read.ts";
import { integer, number, spellings, string, text } from "../database/rows.ts";

/** By lower-case uuid, including deleted instances. */
type InstancesOf = (uuids: readonly (string | null)[]) => Promise<ReadonlyMap<string, InstanceRow>>;

const INSTANCE = {
  ...{ id: number, uuid: string, host: text, node: text, task_state: text },
  deleted: deletedNumber,
};

export function openInstances(database: Database): InstancesOf {
  return async (uuids) => {
    const from = `${await keyed(database, "instances", "uuid")} WHERE uuid IN (...)`;
    const rows = await read(database, INSTANCE, from, spellings(uuids));
    return new Map(rows.map((row) => [row.uuid.toLowerCase(), row]));
  };
}

/** @returns undefined if Nova lacks the column (before 28.0.0) */
export async function computeIdOf(
  database: Database,
  instance: string,
): Promise<number | null | undefined> {
  if (!(await columnNames(database, "instances")).includes("compute_id")) return undefined;
  const from = "instances WHERE deleted = 0 AND uuid = ?";
  const [row] = await read(database, { compute_id: integer }, from, [instance]);
  return row?.compute_id ?? null;
}
