import type { Knex } from "knex";
import { embeddedFlavor } from "../../model/embedded.ts";
import { groupedBy } from "../../model/grouped.ts";
import type { FlavorRows } from "../../model/nova-rows.ts";
import { deletedNumber } from "../database/deleted.ts";
import { tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { ask, integer, text } from "../database/rows.ts";

/**
 * Every flavor with its live extra specs, and the hosts of its live instances. Deleted flavors too:
 * instances go on using them.
 *
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavorRows(database: Database, on: Knex): Promise<FlavorRows> {
  const read = (table: string, sql: string) => ask(database, `reading ${table}`, sql, [], on);
  const flavors = await read(
    "instance_types",
    "SELECT id, name, flavorid, deleted FROM instance_types ORDER BY id",
  );
  const specs = await read(
    "instance_type_extra_specs",
    `SELECT id, instance_type_id, ${database.knex.ref("key")} AS name, value, deleted, deleted_at FROM instance_type_extra_specs WHERE deleted = 0 ORDER BY id`,
  );
  const used = await read(
    "instances",
    "SELECT instance_type_id, host FROM instances WHERE deleted = 0 AND instance_type_id IS NOT NULL GROUP BY instance_type_id, host ORDER BY host",
  );
  const hosts = groupedBy(
    used,
    (row) => integer(row.instance_type_id) ?? 0,
    (row) => text(row.host) ?? "",
  );
  return {
    ...{ place: "nova", hosts },
    flavors: flavors.map((row) => ({
      id: integer(row.id) ?? 0,
      name: text(row.name),
      flavorid: text(row.flavorid),
      deleted: deletedNumber(row.deleted),
    })),
    specs: specs.map((row) => ({
      id: integer(row.id) ?? 0,
      instance_type_id: integer(row.instance_type_id) ?? 0,
      key: text(row.name) ?? "",
      value: text(row.value),
      deleted: deletedNumber(row.deleted),
      deleted_at: text(row.deleted_at),
    })),
  };
}

/**
 * Flavorids of flavors that live instances have and nova has no row of, by the copies the instances
 * carry: since Newton flavors are made in nova_api, and only there.
 *
 * @source facts/nova-bm.md 4.3
 */
export async function readCopiedIds(
  database: Database,
  on: Knex,
  ids: readonly number[],
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  if (ids.length === 0 || !(await tableNames(database)).has("instance_extra")) return found;
  for (const id of ids) {
    const sql =
      "SELECT e.flavor AS flavor FROM instances i JOIN instance_extra e ON e.instance_uuid = i.uuid WHERE i.deleted = 0 AND e.flavor IS NOT NULL AND i.instance_type_id = ? ORDER BY i.id LIMIT 1";
    const [row] = await ask(database, "reading instance_extra", sql, [id], on);
    const flavorid = embeddedFlavor(text(row?.flavor))?.flavorid;
    if (flavorid) found.set(flavorid, id);
  }
  return found;
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
  const read = (table: string, sql: string) => ask(database, `reading ${table}`, sql, [], on);
  const flavors = await read("flavors", "SELECT id, name, flavorid FROM flavors ORDER BY id");
  const specs = await read(
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
