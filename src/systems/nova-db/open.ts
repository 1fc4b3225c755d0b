import { MigrationError } from "../../lib/error.ts";
import type { NovaVersion } from "../../model/artefact.ts";
import { ALEMBIC, NOVA_HEADS, NOVA_VERSIONS } from "../../model/nova/nova-release.ts";
import { needNumbers } from "../database/deleted.ts";
import { needTables, schemaVersion } from "../database/identity.ts";
import type { Database } from "../database/open.ts";

const NEEDED = [
  "instances",
  "instance_info_caches",
  "instance_system_metadata",
  "instance_types",
  "instance_type_extra_specs",
  "services",
  "compute_nodes",
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
