import type { Knex } from "knex";
import type { DeployImage } from "../../model/check.ts";
import type { Flavor } from "../../model/machine.ts";
import type { FlavorSize } from "../../model/settings.ts";
import { softDeleted } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import {
  ask,
  askIn,
  columnList,
  integer,
  marks,
  type RawRow,
  text,
  whole,
} from "../database/rows.ts";

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
  const { engine, knex } = database;
  const read = (table: string, sql: string) =>
    askIn(database, `reading ${table}`, sql, wanted, trx);
  const types = await read(
    "instance_types",
    `SELECT id, swap, ${columnList(database, ["name", "flavorid", "deleted"])} FROM instance_types WHERE id IN (...)`,
  );
  const specs = await read(
    "instance_type_extra_specs",
    `SELECT instance_type_id, ${whole(engine, `${knex.ref("key")}`)} AS name, ${whole(engine, "value")} AS value FROM instance_type_extra_specs WHERE deleted = 0 AND instance_type_id IN (...) ORDER BY id`,
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

const IMAGES = "('baremetal:deploy_kernel_id', 'baremetal:deploy_ramdisk_id')";

/** Where flavors are; nova_api keeps no deleted ones. */
const PLACES = {
  nova: { flavors: "instance_types", specs: "instance_type_extra_specs", of: "instance_type_id" },
  nova_api: { flavors: "flavors", specs: "flavor_extra_specs", of: "flavor_id" },
} as const;

type Place = keyof typeof PLACES;

/**
 * Sizes of the live flavors that are for machines, by their ids: those that name deploy images, and
 * those of these ids.
 *
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavorSizes(
  database: Database,
  ids: readonly number[],
  place: Place = "nova",
): Promise<ReadonlyMap<number, FlavorSize>> {
  const { knex } = database;
  const { flavors, specs, of } = PLACES[place];
  const live = place === "nova" ? "deleted = 0 AND" : "";
  const named = ids.length === 0 ? "" : `OR id IN (${marks(ids)})`;
  const sql = `SELECT id, ${columnList(database, ["name", "flavorid"])}, vcpus, memory_mb, root_gb, ephemeral_gb, swap FROM ${flavors} WHERE ${live} (id IN (SELECT ${of} FROM ${specs} WHERE ${live} ${knex.ref("key")} IN ${IMAGES}) ${named}) ORDER BY id`;
  const rows = await ask(database, `reading ${flavors}`, sql, ids);
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

/** Deploy images of live flavors, and of deleted ones that instances have: Nova reads those too. @source facts/nova-bm.md 4.1, 4.3 */
export async function readDeployImages(
  database: Database,
  place: Place = "nova",
): Promise<readonly DeployImage[]> {
  const { engine, knex } = database;
  const { flavors, specs, of } = PLACES[place];
  const live =
    place === "nova"
      ? "s.deleted = 0 AND (t.deleted = 0 OR EXISTS (SELECT 1 FROM instances i WHERE i.deleted = 0 AND i.instance_type_id = t.id)) AND"
      : "";
  const sql = `SELECT s.id AS id, t.id AS flavor, ${knex.ref("s.key")} AS spec, ${whole(engine, "t.flavorid")} AS flavorid, ${whole(engine, "t.name")} AS name, ${whole(engine, "s.value")} AS value FROM ${specs} s JOIN ${flavors} t ON t.id = s.${of} WHERE ${live} ${knex.ref("s.key")} IN ${IMAGES} ORDER BY s.id`;
  const rows = await ask(database, `reading ${specs}`, sql);
  return rows.map((row) => ({
    steps: [
      `${specs}:${integer(row.id)}`,
      `os-extra_specs:${text(row.flavorid)}/${text(row.spec)}`,
    ],
    id: integer(row.flavor) ?? 0,
    flavor: text(row.name) ?? "without name",
    value: text(row.value),
  }));
}
