import type { ComputeSize } from "../../model/nova-rows.ts";
import { indexByText } from "../database/by-text.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, select, text } from "../database/rows.ts";

/** Live compute nodes by the uuid of their node, lower case. */
export type ComputesOf = (
  uuids: readonly string[],
) => Promise<ReadonlyMap<string, readonly ComputeSize[]>>;

const COLUMNS = "id, hypervisor_hostname, hypervisor_type, vcpus, memory_mb, local_gb";

/** Reads what Nova offers of machines; the column that names them has no index. */
export async function openComputes(database: Database): Promise<ComputesOf> {
  const { knex, run } = database;
  const placed = await indexByText(
    database,
    knex,
    "compute_nodes",
    "hypervisor_hostname",
    "deleted = 0 AND hypervisor_hostname IS NOT NULL",
  );
  return async (uuids) => {
    const ids = placed.ids(uuids);
    const found = new Map<string, ComputeSize[]>();
    if (ids.length === 0) return found;
    const rows = await run("reading compute_nodes", () =>
      select(
        database,
        knex,
        `SELECT ${COLUMNS} FROM compute_nodes WHERE deleted = 0 AND id IN (${marks(ids)}) ORDER BY id`,
        ids,
      ),
    );
    for (const row of rows) {
      const node = (text(row.hypervisor_hostname) ?? "").toLowerCase();
      const size = {
        id: integer(row.id) ?? 0,
        hypervisor_type: text(row.hypervisor_type),
        vcpus: integer(row.vcpus),
        memory_mb: integer(row.memory_mb),
        local_gb: integer(row.local_gb),
      };
      found.set(node, [...(found.get(node) ?? []), size]);
    }
    return found;
  };
}
