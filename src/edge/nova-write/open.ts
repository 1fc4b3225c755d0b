import { MigrationError } from "../../model/error.ts";
import type { NovaIdentity } from "../../model/nova-plan.ts";
import { columnNames, identify, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, select } from "../database/rows.ts";

/** Tables that are read or changed, and what must be in them. @source facts/nova-bm.md 4.3, 5.1 */
const NEEDED: { readonly [table: string]: readonly string[] } = {
  instances: ["id", "uuid", "host", "node", "task_state", "deleted", "instance_type_id"],
  compute_nodes: ["id", "service_id", "hypervisor_hostname", "deleted", "deleted_at"],
  services: ["id", "host", "binary", "disabled", "disabled_reason", "deleted", "updated_at"],
  aggregate_hosts: ["id", "host", "aggregate_id", "deleted", "created_at"],
  block_device_mapping: ["instance_uuid", "volume_id", "deleted"],
  instance_types: ["id", "name", "flavorid", "deleted"],
  instance_type_extra_specs: ["id", "instance_type_id", "key", "value", "deleted", "deleted_at"],
};

/**
 * Which nova database this is, once it is known to be one whose rows this tool may change.
 *
 * @throws MigrationError N2I-E202 when it is another database, N2I-E203 when its schema is another
 * @source facts/nova-bm.md 1.1; facts/systems.md D R3
 */
export async function identifyNova(database: Database): Promise<NovaIdentity> {
  const refuse = (code: "N2I-E202" | "N2I-E203", what: string): MigrationError =>
    new MigrationError(code, `--nova-db ${database.shown} ${what}`);
  const tables = await tableNames(database);
  const missing = [...Object.keys(NEEDED), "migrate_version"].filter((table) => !tables.has(table));
  if (missing.length > 0)
    throw refuse(
      "N2I-E202",
      `is not a nova database, or its user may not read all of it: there is no ${missing.join(", ")}`,
    );
  const [row] = await database.run("reading migrate_version", () =>
    select(
      database,
      database.knex,
      "SELECT version FROM migrate_version WHERE repository_id = 'nova'",
    ),
  );
  const version = integer(row?.version);
  if (version === null) throw refuse("N2I-E202", "is not a nova database: it has no version");
  if (version < 161 || version > 254)
    throw refuse("N2I-E203", `has nova schema version ${version}; 161 to 254 can be changed`);
  for (const [table, wanted] of Object.entries(NEEDED)) {
    const there = new Set(await columnNames(database, table));
    const lacking = wanted.filter((column) => !there.has(column));
    if (lacking.length > 0) throw refuse("N2I-E203", `${table} lacks ${lacking.join(", ")}`);
  }
  return { ...(await identify(database)), schema_version: version };
}
