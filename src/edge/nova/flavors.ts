import type { Knex } from "knex";
import type { Flavor } from "../../model/machine.ts";
import { softDeleted } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, type RawRow, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";

/**
 * Adds the flavors these instances name, deleted ones included, to those known. A deployment has
 * few flavors, however many machines.
 *
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavors(
  database: Database,
  trx: Knex,
  instances: readonly RawRow[],
  known: Map<number, Flavor>,
): Promise<void> {
  const wanted = [...new Set(instances.map((row) => integer(row.instance_type_id)))].filter(
    (id): id is number => id !== null && !known.has(id),
  );
  if (wanted.length === 0) return;
  const { engine } = database;
  const key = `${database.knex.ref("key")}`;
  const types = await database.run("reading instance_types", () =>
    select(
      database,
      trx,
      `SELECT id, ${whole(engine, "name")} AS name, ${whole(engine, "flavorid")} AS flavorid, swap, ${whole(engine, "deleted")} AS deleted FROM instance_types WHERE id IN (${marks(wanted)})`,
      wanted,
    ),
  );
  const specs = await database.run("reading instance_type_extra_specs", () =>
    select(
      database,
      trx,
      `SELECT instance_type_id, ${whole(engine, key)} AS name, ${whole(engine, "value")} AS value FROM instance_type_extra_specs WHERE deleted = 0 AND instance_type_id IN (${marks(wanted)}) ORDER BY id`,
      wanted,
    ),
  );
  for (const row of types) {
    const id = integer(row.id) ?? -1;
    known.set(id, {
      id,
      name: text(row.name),
      flavorid: text(row.flavorid),
      swap: integer(row.swap),
      deleted: softDeleted(row.deleted) === true,
      extra_specs: Object.fromEntries(
        specs
          .filter((spec) => integer(spec.instance_type_id) === id)
          .map(({ name, value }) => [text(name) ?? "", text(value)]),
      ),
    });
  }
}
