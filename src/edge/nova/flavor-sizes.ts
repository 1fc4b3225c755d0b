import type { FlavorSize } from "../../model/settings.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";

/**
 * Sizes of the live flavors that are for machines: those that name deploy images, and those of these
 * ids.
 *
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavorSizes(
  database: Database,
  ids: readonly number[],
): Promise<readonly FlavorSize[]> {
  const { engine, knex } = database;
  const named = ids.length === 0 ? "" : `OR id IN (${marks(ids)})`;
  const rows = await database.run("reading instance_types", () =>
    select(
      database,
      knex,
      `SELECT ${whole(engine, "name")} AS name, ${whole(engine, "flavorid")} AS flavorid, vcpus, memory_mb, root_gb, ephemeral_gb, swap FROM instance_types WHERE deleted = 0 AND (id IN (SELECT instance_type_id FROM instance_type_extra_specs WHERE deleted = 0 AND ${knex.ref("key")} IN ('baremetal:deploy_kernel_id', 'baremetal:deploy_ramdisk_id')) ${named}) ORDER BY id`,
      ids,
    ),
  );
  return rows.map((row) => ({
    name: `${text(row.name)} (${text(row.flavorid)})`,
    vcpus: integer(row.vcpus) ?? 0,
    memory_mb: integer(row.memory_mb) ?? 0,
    root_gb: integer(row.root_gb) ?? 0,
    ephemeral_gb: integer(row.ephemeral_gb) ?? 0,
    swap_mb: integer(row.swap) ?? 0,
  }));
}
