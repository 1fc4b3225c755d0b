import type { Knex } from "knex";
import type { FlavorRows } from "../../model/nova-rows.ts";
import type { Database } from "../database/open.ts";
import { integer, select, text } from "../database/rows.ts";

/**
 * Every flavor with its live extra specs, and the hosts of its live instances. Deleted flavors too:
 * instances go on using them.
 *
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavorRows(database: Database, on: Knex): Promise<FlavorRows> {
  const ask = (table: string, sql: string) =>
    database.run(`reading ${table}`, () => select(database, on, sql));
  const flavors = await ask(
    "instance_types",
    "SELECT id, name, flavorid, deleted FROM instance_types ORDER BY id",
  );
  const specs = await ask(
    "instance_type_extra_specs",
    `SELECT id, instance_type_id, ${database.knex.ref("key")} AS name, value, deleted, deleted_at FROM instance_type_extra_specs WHERE deleted = 0 ORDER BY id`,
  );
  const used = await ask(
    "instances",
    "SELECT instance_type_id, host FROM instances WHERE deleted = 0 AND instance_type_id IS NOT NULL GROUP BY instance_type_id, host ORDER BY host",
  );
  const hosts = new Map<number, string[]>();
  for (const row of used) {
    const id = integer(row.instance_type_id) ?? 0;
    hosts.set(id, [...(hosts.get(id) ?? []), text(row.host) ?? ""]);
  }
  return {
    hosts,
    flavors: flavors.map((row) => ({
      id: integer(row.id) ?? 0,
      name: text(row.name),
      flavorid: text(row.flavorid),
      deleted: integer(row.deleted),
    })),
    specs: specs.map((row) => ({
      id: integer(row.id) ?? 0,
      instance_type_id: integer(row.instance_type_id) ?? 0,
      key: text(row.name) ?? "",
      value: text(row.value),
      deleted: integer(row.deleted),
      deleted_at: text(row.deleted_at),
    })),
  };
}
