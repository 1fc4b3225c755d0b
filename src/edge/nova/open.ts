import { MigrationError } from "../../model/error.ts";
import { tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, select } from "../database/rows.ts";

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
 * @throws MigrationError N2I-E202 when it is another database, N2I-E203 when its version is not 161 to 254
 * @source facts/nova-bm.md 1.1; facts/systems.md D R3
 */
export async function novaVersion(database: Database): Promise<number> {
  const tables = await tableNames(database);
  const missing = NEEDED.filter((table) => !tables.has(table));
  if (missing.length > 0 || !tables.has("migrate_version"))
    throw new MigrationError(
      "N2I-E202",
      `--nova-db ${database.shown} is not a nova database, or its user may not read all of it: there is no ${missing.join(", ") || "migrate_version"}`,
    );
  const rows = await database.run("reading migrate_version", () =>
    select(
      database,
      database.knex,
      "SELECT version FROM migrate_version WHERE repository_id = 'nova'",
    ),
  );
  const version = integer(rows[0]?.version);
  if (version === null || version < 161 || version > 254)
    throw new MigrationError(
      "N2I-E203",
      `--nova-db ${database.shown} has nova schema version ${version ?? "none"}`,
      { fix: "nova-baremetal existed from Grizzly (161) to Juno (254): bring nova to Juno first." },
    );
  return version;
}
