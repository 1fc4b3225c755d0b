import { deletedNumber } from "../database/deleted.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { read, valuesBy } from "../database/read.ts";
import { integer, lower, number, spellings, string, text } from "../database/rows.ts";

const INSTANCE = {
  ...{ id: number, uuid: string, host: text, node: text, task_state: text },
  deleted: deletedNumber,
};

/** By lower-case uuid, including deleted instances. */
export function openInstances(database: Database) {
  return async (uuids: readonly (string | null)[]) => {
    const from = "{instances.uuid} WHERE uuid IN (...)";
    const rows = await read(database, INSTANCE, from, spellings(uuids));
    return new Map(rows.map((row) => [row.uuid.toLowerCase(), row]));
  };
}

/** Volume ids by lower-case uuid. Empty if the table is unreadable. */
export async function attachedVolumes(
  database: Database,
  uuids: readonly (string | null)[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (!(await tableNames(database)).has("block_device_mapping")) return new Map();
  const from =
    "{block_device_mapping.instance_uuid} WHERE deleted = 0 AND volume_id IS NOT NULL AND instance_uuid IN (...) ORDER BY id";
  const fields = { instance_uuid: lower, volume_id: string };
  const rows = await read(database, fields, from, spellings(uuids));
  return valuesBy(rows, "instance_uuid", "volume_id");
}

/** @returns undefined if Nova lacks the column (before 28.0.0) */
export async function computeIdOf(database: Database, instance: string) {
  if (!(await columnNames(database, "instances")).includes("compute_id")) return undefined;
  const from = "instances WHERE deleted = 0 AND uuid = ?";
  const [row] = await read(database, { compute_id: integer }, from, [instance]);
  return row?.compute_id ?? null;
}
