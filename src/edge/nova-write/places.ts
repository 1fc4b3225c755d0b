import type { ComputePlace } from "../../model/nova-rows.ts";
import { indexByText } from "../database/by-text.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, select, text } from "../database/rows.ts";
import { computeHosts } from "./use.ts";

/** Reads where nova-computes with a driver for machines offer them: live rows, by uuid in lower case. */
export async function openPlaces(
  database: Database,
): Promise<(uuids: readonly string[]) => Promise<ReadonlyMap<string, readonly ComputePlace[]>>> {
  const { knex, run } = database;
  const { host, from } = await computeHosts(database);
  const placed = await indexByText(
    database,
    knex,
    "compute_nodes",
    "hypervisor_hostname",
    "deleted = 0 AND hypervisor_type IN ('ironic', 'baremetal') AND hypervisor_hostname IS NOT NULL",
  );
  return async (uuids) => {
    const found = new Map<string, ComputePlace[]>();
    const ids = placed.ids(uuids);
    if (ids.length === 0) return found;
    const rows = await run("reading compute_nodes", () =>
      select(
        database,
        knex,
        `SELECT c.id, c.hypervisor_hostname, c.hypervisor_type, ${host} AS host FROM ${from} WHERE c.deleted = 0 AND c.id IN (${marks(ids)}) ORDER BY c.id`,
        ids,
      ),
    );
    for (const row of rows) {
      const hypervisor_hostname = text(row.hypervisor_hostname) ?? "";
      const node = hypervisor_hostname.toLowerCase();
      const place = {
        ...{ id: integer(row.id) ?? 0, host: text(row.host), hypervisor_hostname },
        hypervisor_type: text(row.hypervisor_type),
      };
      found.set(node, [...(found.get(node) ?? []), place]);
    }
    return found;
  };
}
