import type { Flavor } from "../../model/machine.ts";
import type { FlavorRows } from "../../model/nova/nova-rows.ts";
import type { FlavorSize } from "../../model/settings.ts";
import { deletedNumber, softDeleted } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { read, sql, valuesBy } from "../database/read.ts";
import { integer, marks, number, quoted, type RawRow, string, text } from "../database/rows.ts";

/** Includes deleted flavors. A deployment has few. @source facts/nova-bm.md 4.1, 4.3 */
export async function readFlavors(
  database: Database,
  instances: readonly RawRow[],
  cache: Map<number, Flavor>,
): Promise<void> {
  const ids = [...new Set(instances.map((row) => integer(row.instance_type_id)))].filter(
    (id): id is number => id !== null && !cache.has(id),
  );
  const flavors = await read(
    database,
    { id: number, swap: integer, name: text, flavorid: text, deleted: softDeleted },
    "instance_types WHERE id IN (...)",
    ids,
  );
  const specs = await read(
    database,
    { instance_type_id: number, key: string, value: text },
    "instance_type_extra_specs WHERE deleted = 0 AND instance_type_id IN (...) ORDER BY id",
    ids,
  );
  for (const { id, name, flavorid, swap, deleted } of flavors)
    cache.set(id, {
      ...{ id, name, flavorid, swap },
      deleted: deleted === true,
      extra_specs: Object.fromEntries(
        specs
          .filter(({ instance_type_id }) => instance_type_id === id)
          .map(({ key, value }) => [key, value]),
      ),
    });
}

const IMAGES = "('baremetal:deploy_kernel_id', 'baremetal:deploy_ramdisk_id')";

/** nova_api stores no deleted flavors. */
const TABLES = {
  nova: { flavors: "instance_types", specs: "instance_type_extra_specs", of: "instance_type_id" },
  nova_api: { flavors: "flavors", specs: "flavor_extra_specs", of: "flavor_id" },
} as const;

type FlavorTables = keyof typeof TABLES;

/**
 * nova_api removes deleted rows. In nova, deleted flavors are included, because instances may still
 * use them.
 *
 * @param apiHosts for nova_api: hosts by flavor, from nova
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavorRows(
  database: Database,
  apiHosts?: FlavorRows["hosts"],
): Promise<FlavorRows> {
  const schema = apiHosts === undefined ? "nova" : "nova_api";
  const { flavors, specs, of } = TABLES[schema];
  const isApi = schema === "nova_api";
  const deleted = isApi ? sql("0", number) : deletedNumber;
  const spec = {
    ...{ id: number, key: string, value: text, instance_type_id: sql(of, number), deleted },
    deleted_at: isApi ? sql("NULL", text) : text,
    ...(isApi && { created_at: text, updated_at: text }),
  };
  const live = isApi ? "" : "WHERE deleted = 0";
  return {
    ...{ schema, hosts: apiHosts ?? (await flavorHosts(database)) },
    flavors: await read(
      database,
      { id: number, name: text, flavorid: text, deleted },
      `${flavors} ORDER BY id`,
    ),
    specs: await read(database, spec, `${specs} ${live} ORDER BY id`),
  };
}

async function flavorHosts(database: Database): Promise<FlavorRows["hosts"]> {
  const used = await read(
    database,
    { instance_type_id: number, host: string },
    "instances WHERE deleted = 0 AND instance_type_id IS NOT NULL GROUP BY instance_type_id, host ORDER BY host",
  );
  return valuesBy(used, "instance_type_id", "host");
}

/** Flavors with deploy images or with one of these ids. @source facts/nova-bm.md 4.1, 4.3 */
export async function readFlavorSizes(
  database: Database,
  ids: readonly number[],
  schema: FlavorTables = "nova",
): Promise<ReadonlyMap<number, FlavorSize>> {
  const { flavors, specs, of } = TABLES[schema];
  const live = schema === "nova" ? "deleted = 0 AND" : "";
  const idCondition = ids.length === 0 ? "" : `OR id IN (${marks(ids)})`;
  const key = quoted(database.engine, "key");
  const size = {
    ...{ id: number, flavorid: text, text: sql("name", text), vcpus: number, memory_mb: number },
    ...{ root_gb: number, ephemeral_gb: number, swap_mb: sql("swap", number) },
  };
  const from = `${flavors} WHERE ${live} (id IN (SELECT ${of} FROM ${specs} WHERE ${live} ${key} IN ${IMAGES}) ${idCondition}) ORDER BY id`;
  const rows = await read(database, size, from, ids);
  return new Map(
    rows.map(({ id, text, flavorid, ...sizes }) => [
      id,
      { name: `${text} (${flavorid})`, ...sizes },
    ]),
  );
}

/** Includes deleted flavors in use, which Nova also reads. @source facts/nova-bm.md 4.1, 4.3 */
export async function readDeployImages(database: Database, schema: FlavorTables = "nova") {
  const { flavors, specs, of } = TABLES[schema];
  const key = `s.${quoted(database.engine, "key")}`;
  const live =
    schema === "nova"
      ? "s.deleted = 0 AND (t.deleted = 0 OR EXISTS (SELECT 1 FROM instances i WHERE i.deleted = 0 AND i.instance_type_id = t.id)) AND"
      : "";
  const image = {
    ...{ spec: sql("s.id", number), key: sql(key, text), value: sql("s.value", text) },
    ...{ id: sql("t.id", number), flavorid: sql("t.flavorid", text), name: sql("t.name", text) },
  };
  const from = `${specs} s JOIN ${flavors} t ON t.id = s.${of} WHERE ${live} ${key} IN ${IMAGES} ORDER BY s.id`;
  return (await read(database, image, from)).map((row) => ({
    step: `${specs}:${row.spec}`,
    id: row.id,
    flavor: row.name ?? "without name",
    value: row.value,
  }));
}
