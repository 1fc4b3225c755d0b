import type { ComputePlace } from "../../model/nova-rows.ts";
import type { Database } from "../database/open.ts";
import { integer, text } from "../database/rows.ts";
import { type ByNode, openByNode } from "./by-node.ts";
import { computeHosts } from "./use.ts";

/** Reads where nova-computes with a driver for machines offer them: live rows. */
export async function openPlaces(database: Database): Promise<ByNode<ComputePlace>> {
  const { host, from } = await computeHosts(database);
  return openByNode(
    database,
    {
      ...({ table: "compute_nodes", column: "hypervisor_hostname" } as const),
      live: "deleted = 0 AND hypervisor_type IN ('ironic', 'baremetal')",
    },
    (ids) =>
      `SELECT c.id, c.hypervisor_hostname, c.hypervisor_type, ${host} AS host FROM ${from} WHERE c.deleted = 0 AND c.id ${ids} ORDER BY c.id`,
    (row) => ({
      id: integer(row.id) ?? 0,
      host: text(row.host),
      hypervisor_hostname: text(row.hypervisor_hostname) ?? "",
      hypervisor_type: text(row.hypervisor_type),
    }),
  );
}
