import { MigrationError } from "../../model/error.ts";
import { NOVA_VERSIONS } from "../../model/nova-release.ts";
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
 * The migrate version of a nova database, once it is known to be one.
 *
 * @throws MigrationError N2I-E202 when it is another database, N2I-E203 when its version is not 161 to 422
 * @source facts/nova-bm.md 1.1; facts/systems.md D R3
 */
export async function novaVersion(database: Database): Promise<number> {
  const tables = await tableNames(database);
  const missing = NEEDED.filter((table) => !tables.has(table));
  const { version, head } = await schemaVersion(database, "nova");
  if (missing.length > 0 || (!tables.has("migrate_version") && head === null))
    throw new MigrationError(
      "N2I-E202",
      `--nova-db ${database.shown} is not a nova database, or its user may not read all of it: there is no ${missing.join(", ") || "migrate_version"}`,
    );
  if (head !== null)
    throw new MigrationError(
      "N2I-E203",
      `--nova-db ${database.shown} is of Xena or later (alembic ${head})`,
      { fix: "Give a copy of nova's database from before, of Wallaby (422) at the latest." },
    );
  const { first, last } = NOVA_VERSIONS;
  if (version === null || version < first || version > last)
    throw new MigrationError(
      "N2I-E203",
      `--nova-db ${database.shown} has nova schema version ${version ?? "none"}`,
      {
        fix: `nova-baremetal existed from Grizzly (161) to Juno (254), and later ones are known up to Wallaby (${last}): bring nova to Juno first.`,
      },
    );
  return version;
}
