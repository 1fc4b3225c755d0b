import type { FlavorSize } from "../../model/settings.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, type RawRow, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";

/** Where flavors are, and which of them are live: nova_api keeps no others. */
const PLACES = {
  nova: {
    ...{ flavors: "instance_types", specs: "instance_type_extra_specs", of: "instance_type_id" },
    live: "deleted = 0 AND",
  },
  nova_api: { flavors: "flavors", specs: "flavor_extra_specs", of: "flavor_id", live: "" },
} as const;

/**
 * Sizes of the live flavors that are for machines, by their ids: those that name deploy images, and
 * those of these ids.
 *
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavorSizes(
  database: Database,
  ids: readonly number[],
  place: keyof typeof PLACES = "nova",
): Promise<ReadonlyMap<number, FlavorSize>> {
  const { engine, knex } = database;
  const { flavors, specs, of, live } = PLACES[place];
  const named = ids.length === 0 ? "" : `OR id IN (${marks(ids)})`;
  const rows = await database.run(`reading ${flavors}`, () =>
    select(
      database,
      knex,
      `SELECT id, ${whole(engine, "name")} AS name, ${whole(engine, "flavorid")} AS flavorid, vcpus, memory_mb, root_gb, ephemeral_gb, swap FROM ${flavors} WHERE ${live} (id IN (SELECT ${of} FROM ${specs} WHERE ${live} ${knex.ref("key")} IN ('baremetal:deploy_kernel_id', 'baremetal:deploy_ramdisk_id')) ${named}) ORDER BY id`,
      ids,
    ),
  );
  const size = (row: RawRow): FlavorSize => ({
    name: `${text(row.name)} (${text(row.flavorid)})`,
    vcpus: integer(row.vcpus) ?? 0,
    memory_mb: integer(row.memory_mb) ?? 0,
    root_gb: integer(row.root_gb) ?? 0,
    ephemeral_gb: integer(row.ephemeral_gb) ?? 0,
    swap_mb: integer(row.swap) ?? 0,
  });
  return new Map(rows.map((row) => [integer(row.id) ?? 0, size(row)]));
}
