import { MigrationError } from "../../model/error.ts";
import type { NovaIdentity } from "../../model/nova-plan.ts";
import { ALEMBIC, NOVA_HEADS, NOVA_VERSIONS } from "../../model/nova-release.ts";
import { incomparable, NO_NOVA } from "../database/deleted.ts";
import { columnNames, identify, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { schemaVersion } from "../database/schema-version.ts";

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

/** Tables of nova that a plan for it reads. */
export const NOVA_TABLES: readonly string[] = Object.keys(NEEDED);

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
  const missing = Object.keys(NEEDED).filter((table) => !tables.has(table));
  if (missing.length > 0)
    throw refuse(
      "N2I-E202",
      `is not a nova database, or its user may not read all of it: there is no ${missing.join(", ")}`,
    );
  const { version, head } = await schemaVersion(database, "nova");
  const found = head === null ? version : ALEMBIC;
  if (head !== null && !NOVA_HEADS.includes(head))
    throw refuse(
      "N2I-E203",
      `has the alembic head ${head}; ${NOVA_HEADS[0]} to ${NOVA_HEADS.at(-1)} can be changed`,
    );
  if (found === null) throw refuse("N2I-E202", "is not a nova database: it has no version");
  const { first, last } = NOVA_VERSIONS;
  if (head === null && (found < first || found > last))
    throw refuse(
      "N2I-E203",
      `has nova schema version ${found}; ${first} to ${last} can be changed`,
    );
  for (const [table, wanted] of Object.entries(NEEDED)) {
    const there = new Set(await columnNames(database, table));
    const lacking = wanted.filter((column) => !there.has(column));
    if (lacking.length > 0) throw refuse("N2I-E203", `${table} lacks ${lacking.join(", ")}`);
  }
  const odd = await incomparable(database);
  if (odd.length > 0)
    throw new MigrationError("N2I-E203", `--nova-db ${database.shown}: ${odd.join(", ")}`, {
      fix: NO_NOVA,
    });
  return { ...(await identify(database)), schema_version: found, ...(head !== null && { head }) };
}
