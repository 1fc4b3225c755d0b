import { MigrationError } from "../../lib/error.ts";
import type { NovaVersion } from "../../model/artefact.ts";
import type { NovaIdentity } from "../../model/nova/nova-plan.ts";
import {
  ALEMBIC,
  ALEMBIC_API,
  NOVA_API_HEADS,
  NOVA_API_VERSIONS,
  NOVA_HEADS,
  NOVA_VERSIONS,
  novaApiReleaseOf,
} from "../../model/nova/nova-release.ts";
import { needNumbers } from "../database/deleted.ts";
import { identify, needColumns, needTables, schemaVersion } from "../database/identity.ts";
import type { Database } from "../database/open.ts";

const NEEDED = [
  ...["instances", "instance_info_caches", "instance_system_metadata", "instance_types"],
  ...["instance_type_extra_specs", "services", "compute_nodes"],
];

/**
 * @throws MigrationError N2I-E202 for another database, N2I-E203 for an unknown version or head
 * @source facts/nova-bm.md 1.1; facts/systems.md D R3
 */
export async function novaVersion(
  database: Database,
  tables: readonly string[] = NEEDED,
): Promise<NovaVersion> {
  const { version, head } = await schemaVersion(database, "nova");
  const needed = head === null ? [...tables, "migrate_version"] : tables;
  await needTables(database, { option: "--nova-db", what: "a nova database" }, needed);
  await needNumbers(database, "--nova-db");
  const { first, last } = NOVA_VERSIONS;
  if (head !== null) {
    if (NOVA_HEADS.includes(head)) return { schema_version: ALEMBIC, head };
    throw new MigrationError(
      "N2I-E203",
      `--nova-db ${database.label} has the alembic head ${head}, which is not supported`,
      {
        fix: `Supported are ${NOVA_HEADS[0]} (Xena) to ${NOVA_HEADS.at(-1)}. Use a version of this tool that supports the head, or, only to read, pass a copy of Nova's database from before the upgrade.`,
      },
    );
  }
  if (version === null || version < first || version > last)
    throw new MigrationError(
      "N2I-E203",
      `--nova-db ${database.label} has nova schema version ${version ?? "none"}`,
      {
        fix: `nova-baremetal existed from Grizzly (161) to Juno (254), and later versions are supported up to Wallaby (${last}) and by alembic heads. Upgrade nova to Juno first.`,
      },
    );
  return { schema_version: version };
}

/** Required tables and columns. @source facts/nova-bm.md 4.3, 5.1 */
const NOVA: { readonly [table: string]: readonly string[] } = {
  instances: ["id", "uuid", "host", "node", "task_state", "deleted", "instance_type_id"],
  compute_nodes: ["id", "service_id", "hypervisor_hostname", "deleted", "deleted_at"],
  services: ["id", "host", "binary", "disabled", "disabled_reason", "deleted", "updated_at"],
  aggregate_hosts: ["id", "host", "aggregate_id", "deleted", "created_at"],
  block_device_mapping: ["instance_uuid", "volume_id", "deleted"],
  instance_types: ["id", "name", "flavorid", "deleted"],
  instance_type_extra_specs: ["id", "instance_type_id", "key", "value", "deleted", "deleted_at"],
};

/** For moves between compute hosts, so that these need no further privileges. */
export const MOVED_TABLES: typeof NOVA = {
  instances: ["id", "uuid", "host", "node", "task_state", "vm_state", "deleted"],
  compute_nodes: [
    ...["id", "service_id", "hypervisor_hostname", "hypervisor_type", "deleted", "deleted_at"],
  ],
  services: [
    ...["id", "host", "binary", "report_count", "disabled", "disabled_reason", "deleted"],
    "updated_at",
  ],
};

export const NOVA_TABLES: readonly string[] = Object.keys(NOVA);

/**
 * @throws MigrationError N2I-E202 for another database, N2I-E203 for another schema
 * @source facts/nova-bm.md 1.1; facts/systems.md D R3
 */
export async function identifyNova(
  database: Database,
  needed: typeof NOVA = NOVA,
): Promise<NovaIdentity> {
  const version = await novaVersion(database, Object.keys(needed));
  await needColumns(database, "--nova-db", needed);
  return { ...(await identify(database)), ...version };
}

/** @source facts/nova-bm.md 4.3 */
const NOVA_API: typeof NOVA = {
  flavors: ["id", "name", "flavorid"],
  flavor_extra_specs: ["id", "flavor_id", "key", "value", "created_at", "updated_at"],
};

/** Tables of nova_api for moves between compute hosts. */
export const HOSTS: typeof NOVA = {
  host_mappings: ["id", "host", "cell_id"],
  aggregates: ["id", "name"],
  aggregate_hosts: ["host", "aggregate_id"],
};

export const NOVA_API_TABLES: readonly string[] = Object.keys(NOVA_API);

/** @throws MigrationError N2I-E202 for another database, N2I-E203 for another schema */
export async function identifyNovaApi(
  database: Database,
  needed: typeof NOVA = NOVA_API,
): Promise<NovaIdentity> {
  const refuse = (what: string, fix?: string, code: "N2I-E202" | "N2I-E203" = "N2I-E203") =>
    new MigrationError(code, `--nova-api-db ${database.label} ${what}`, fix ? { fix } : {});
  const { version, head } = await schemaVersion(database, "nova_api");
  const expected = { option: "--nova-api-db", what: "a nova_api database" };
  const tables = Object.keys(needed);
  if (version === null || head !== null) await needTables(database, expected, tables);
  if (head !== null && !NOVA_API_HEADS.includes(head))
    throw refuse(
      `has the alembic head ${head}, which is not supported`,
      "Run plan without --nova-api-db, then change the extra specs with openstack flavor set and unset.",
    );
  const found = head === null ? version : ALEMBIC_API;
  if (found === null)
    throw refuse("is not a nova_api database: it has no version", undefined, "N2I-E202");
  const { first, last } = NOVA_API_VERSIONS;
  const schema = `has nova_api schema version ${found}`;
  if (found < first)
    throw refuse(
      `${schema} of ${novaApiReleaseOf(found)}, which reads flavors from nova`,
      "Omit --nova-api-db.",
    );
  if (head === null && found > last) throw refuse(`${schema}; ${first} to ${last} are supported`);
  await needTables(database, expected, tables);
  await needColumns(database, "--nova-api-db", needed);
  return { ...(await identify(database)), schema_version: found, ...(head !== null && { head }) };
}
