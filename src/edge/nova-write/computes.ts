import type { ComputeSize } from "../../model/nova-rows.ts";
import type { Database } from "../database/open.ts";
import { integer, text } from "../database/rows.ts";
import { type ByNode, openByNode } from "./by-node.ts";

const COLUMNS = "id, hypervisor_hostname, hypervisor_type, vcpus, memory_mb, local_gb";

/** Reads what Nova offers of machines: live compute nodes. */
export function openComputes(database: Database): Promise<ByNode<ComputeSize>> {
  return openByNode(
    database,
    { table: "compute_nodes", column: "hypervisor_hostname", live: "deleted = 0" },
    (ids) => `SELECT ${COLUMNS} FROM compute_nodes WHERE deleted = 0 AND id ${ids} ORDER BY id`,
    (row) => ({
      id: integer(row.id) ?? 0,
      hypervisor_type: text(row.hypervisor_type),
      vcpus: integer(row.vcpus),
      memory_mb: integer(row.memory_mb),
      local_gb: integer(row.local_gb),
    }),
  );
}

/**
 * Reads which compute nodes of machines were deleted since a moment.
 *
 * @param since naive UTC, as Nova writes it
 */
export function openDeleted(database: Database, since: string): Promise<ByNode<number>> {
  return openByNode(
    database,
    {
      ...({ table: "compute_nodes", column: "hypervisor_hostname" } as const),
      live: `deleted <> 0 AND deleted_at >= '${since}'`,
    },
    (ids) =>
      `SELECT id, hypervisor_hostname FROM compute_nodes WHERE deleted <> 0 AND id ${ids} ORDER BY id`,
    (row) => integer(row.id) ?? 0,
  );
}
