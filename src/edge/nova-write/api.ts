import type { Knex } from "knex";
import { MigrationError } from "../../model/error.ts";
import type { NovaIdentity } from "../../model/nova-plan.ts";
import {
  ALEMBIC_API,
  NOVA_API_HEADS,
  NOVA_API_VERSIONS,
  novaApiReleaseOf,
} from "../../model/nova-release.ts";
import type { FlavorRows } from "../../model/nova-rows.ts";
import { columnNames, identify, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, select, text } from "../database/rows.ts";
import { schemaVersion } from "../database/schema-version.ts";

/** Tables that are read or changed, and what must be in them. @source facts/nova-bm.md 4.3 */
const NEEDED: { readonly [table: string]: readonly string[] } = {
  flavors: ["id", "name", "flavorid"],
  flavor_extra_specs: ["id", "flavor_id", "key", "value", "created_at", "updated_at"],
};

/** Tables of nova_api that a plan for its flavors reads. */
export const NOVA_API_TABLES: readonly string[] = Object.keys(NEEDED);

/**
 * Which nova_api database this is, once it is known to be one whose flavors Nova reads.
 *
 * @throws MigrationError N2I-E202 when it is another database, N2I-E203 when its schema is another
 */
export async function identifyNovaApi(database: Database): Promise<NovaIdentity> {
  const refuse = (code: "N2I-E202" | "N2I-E203", what: string, fix?: string): MigrationError =>
    new MigrationError(
      code,
      `--nova-api-db ${database.shown} ${what}`,
      fix === undefined ? {} : { fix },
    );
  const tables = await tableNames(database);
  const { version, head } = await schemaVersion(database, "nova_api");
  const missing = Object.keys(NEEDED).filter((table) => !tables.has(table));
  if (missing.length > 0 && (version === null || head !== null))
    throw refuse(
      "N2I-E202",
      `is not a nova_api database, or its user may not read all of it: there is no ${missing.join(", ")}`,
    );
  if (head !== null && !NOVA_API_HEADS.includes(head))
    throw refuse(
      "N2I-E203",
      `has the alembic head ${head}, which is not known`,
      "Change flavors through Nova itself: --flavors-via rest.",
    );
  const found = head === null ? version : ALEMBIC_API;
  if (found === null) throw refuse("N2I-E202", "is not a nova_api database: it has no version");
  const { first, last } = NOVA_API_VERSIONS;
  if (found < first)
    throw refuse(
      "N2I-E203",
      `has nova_api schema version ${found} of ${novaApiReleaseOf(found)}, which reads flavors in nova`,
      "Leave --nova-api-db out.",
    );
  if (head === null && found > last)
    throw refuse("N2I-E203", `has nova_api schema version ${found}; ${first} to ${last} are known`);
  for (const [table, wanted] of Object.entries(NEEDED)) {
    const there = new Set(await columnNames(database, table));
    const lacking = wanted.filter((column) => !there.has(column));
    if (lacking.length > 0) throw refuse("N2I-E203", `${table} lacks ${lacking.join(", ")}`);
  }
  return { ...(await identify(database)), schema_version: found, ...(head !== null && { head }) };
}

/**
 * Every flavor of nova_api with its extra specs; both are gone for good once they are deleted.
 *
 * @param hosts of live instances by flavor, as nova tells them
 * @source facts/nova-bm.md 4.3
 */
export async function readApiFlavors(
  database: Database,
  on: Knex,
  hosts: FlavorRows["hosts"],
): Promise<FlavorRows> {
  const ask = (table: string, sql: string) =>
    database.run(`reading ${table}`, () => select(database, on, sql));
  const flavors = await ask("flavors", "SELECT id, name, flavorid FROM flavors ORDER BY id");
  const specs = await ask(
    "flavor_extra_specs",
    `SELECT id, flavor_id, ${database.knex.ref("key")} AS name, value, created_at, updated_at FROM flavor_extra_specs ORDER BY id`,
  );
  return {
    ...{ place: "nova_api", hosts },
    flavors: flavors.map((row) => ({
      id: integer(row.id) ?? 0,
      name: text(row.name),
      flavorid: text(row.flavorid),
      deleted: 0,
    })),
    specs: specs.map((row) => ({
      id: integer(row.id) ?? 0,
      instance_type_id: integer(row.flavor_id) ?? 0,
      key: text(row.name) ?? "",
      value: text(row.value),
      ...{ deleted: 0, deleted_at: null },
      created_at: text(row.created_at),
      updated_at: text(row.updated_at),
    })),
  };
}
