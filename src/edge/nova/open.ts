import type { NovaVersion } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import { ALEMBIC, NOVA_HEADS, NOVA_VERSIONS } from "../../model/nova-release.ts";
import { incomparable, NO_NOVA } from "../database/deleted.ts";
import { tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { schemaVersion } from "../database/schema-version.ts";

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
 * The version of a nova database, once it is known to be one.
 *
 * @throws MigrationError N2I-E202 when it is another database, N2I-E203 when its version is not 161 to
 *   422, nor one of the heads that are known
 * @source facts/nova-bm.md 1.1; facts/systems.md D R3
 */
export async function novaVersion(database: Database): Promise<NovaVersion> {
  const tables = await tableNames(database);
  const missing = NEEDED.filter((table) => !tables.has(table));
  const { version, head } = await schemaVersion(database, "nova");
  if (missing.length > 0 || (!tables.has("migrate_version") && head === null))
    throw new MigrationError(
      "N2I-E202",
      `--nova-db ${database.shown} is not a nova database, or its user may not read all of it: there is no ${missing.join(", ") || "migrate_version"}`,
    );
  const odd = await incomparable(database);
  if (odd.length > 0)
    throw new MigrationError("N2I-E203", `--nova-db ${database.shown}: ${odd.join(", ")}`, {
      fix: NO_NOVA,
    });
  const { first, last } = NOVA_VERSIONS;
  if (head !== null) {
    if (NOVA_HEADS.includes(head)) return { schema_version: ALEMBIC, head };
    throw new MigrationError(
      "N2I-E203",
      `--nova-db ${database.shown} has the alembic head ${head}, which is not known`,
      {
        fix: `Known are ${NOVA_HEADS[0]} (Xena) to ${NOVA_HEADS.at(-1)}: give a copy of nova's database from before, or take a version of this tool that knows the head.`,
      },
    );
  }
  if (version === null || version < first || version > last)
    throw new MigrationError(
      "N2I-E203",
      `--nova-db ${database.shown} has nova schema version ${version ?? "none"}`,
      {
        fix: `nova-baremetal existed from Grizzly (161) to Juno (254), and later ones are known up to Wallaby (${last}) and by alembic heads: bring nova to Juno first.`,
      },
    );
  return { schema_version: version };
}
