import type { StoredText } from "../../model/charset.ts";
import type { Database } from "../database/open.ts";
import { storedTexts } from "../database/stored-text.ts";
import { METADATA } from "./rows.ts";

const LIVE = "deleted = 0";

/**
 * How nova keeps the names this tool writes or goes by: hosts and nodes, and what machines' records
 * take from instances and flavors.
 *
 * @param instances uuids of those on our machines
 * @throws MigrationError N2I-E206
 * @source facts/nova-bm.md 4.3, 5.1
 */
export function novaTexts(
  database: Database,
  instances: readonly string[],
): Promise<readonly StoredText[]> {
  const key = `${database.knex.ref("key")}`;
  return storedTexts(database, [
    {
      ...{ table: "instances", columns: ["host", "node", "display_name"], where: LIVE },
      of: { column: "uuid", values: instances },
    },
    {
      ...{ table: "instance_system_metadata", columns: ["value"] },
      where: `${LIVE} AND ${key} IN ${METADATA}`,
      of: { column: "instance_uuid", values: instances },
    },
    { table: "instance_types", columns: ["name", "flavorid"], where: LIVE },
    { table: "instance_type_extra_specs", columns: ["key", "value"], where: LIVE },
    { table: "services", columns: ["host", "disabled_reason"], where: LIVE },
    { table: "compute_nodes", columns: ["host", "hypervisor_hostname"], where: LIVE },
    { table: "aggregate_hosts", columns: ["host"], where: LIVE },
  ]);
}

/** The same of nova_api, which keeps no deleted rows. */
export function apiTexts(database: Database): Promise<readonly StoredText[]> {
  return storedTexts(database, [
    { table: "flavors", columns: ["name", "flavorid"] },
    { table: "flavor_extra_specs", columns: ["key", "value"] },
  ]);
}
