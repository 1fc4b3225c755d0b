import type { Knex } from "knex";
import { indexByText } from "../database/by-text.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { quoted, read } from "../database/read.ts";
import {
  askIn,
  columnList,
  integer,
  lower,
  spellings,
  string,
  text,
  whole,
} from "../database/rows.ts";

/** What of a bm_nodes row the nova database is asked about. */
export interface AskedMachine {
  readonly id: number;
  readonly uuid: string | null;
  readonly instance_uuid: string | null;
  readonly service_host: string | null;
}

const INSTANCE = [
  ...["uuid", "host", "node", "vm_state", "task_state", "power_state", "deleted", "launched_at"],
  ...["image_ref", "kernel_id", "ramdisk_id", "root_gb", "ephemeral_gb", "memory_mb", "vcpus"],
  ...["display_name", "project_id", "instance_type_id"],
];

/** system_metadata keys worth keeping: admin passwords stand in others. */
export const METADATA =
  "('image_base_image_ref','image_disk_format','image_kernel_id','image_ramdisk_id','instance_type_flavorid','instance_type_name')";

/**
 * Nova's rows about a batch of machines, whatever indexes the server has.
 *
 * @source facts/nova-bm.md 5.1: neither instances.node nor compute_nodes.hypervisor_hostname has an index
 */
export async function novaRows(database: Database, trx: Knex) {
  const { engine } = database;
  const instance = `id, ${columnList(database, INSTANCE)}`;
  const index = (table: string, column: string, live: string) =>
    indexByText(database, trx, table, column, live);
  const kept = `${quoted(engine, "key")} IN ${METADATA} AND deleted = 0`;
  const placed = await index("instances", "node", "deleted = 0 AND node IS NOT NULL");
  const live = "deleted = 0 AND hypervisor_hostname IS NOT NULL";
  const computed = await index("compute_nodes", "hypervisor_hostname", live);
  // A foreign key is an index on MySQL only.
  const described =
    engine === "mysql" ? null : await index("instance_system_metadata", "instance_uuid", kept);

  const carries =
    (await tableNames(database)).has("instance_extra") &&
    (await columnNames(database, "instance_extra")).includes("flavor");

  const raw = (what: string, from: string, values: readonly unknown[]) => {
    const doing = `reading ${from.replace(/ .*/s, "")}`;
    return askIn(database, doing, `SELECT ${what} FROM ${from}`, values, trx);
  };
  return {
    /** Instances bm_nodes names, deleted ones too, and live ones that name one of the nodes. */
    async instances(machines: readonly AskedMachine[]) {
      const named = spellings(machines.map(({ instance_uuid }) => instance_uuid));
      const direct = await raw(instance, "instances WHERE uuid IN (...) ORDER BY uuid", named);
      const known = new Set(direct.map(({ id }) => integer(id)));
      const others = placed.ids(nodesOf(machines)).filter((id) => !known.has(id));
      const more = await raw(instance, "instances WHERE id IN (...) ORDER BY uuid", others);
      return [...direct, ...more];
    },
    /** Live rows of the nodes, in order of their ids; a few of other nodes may be among them. */
    computes(machines: readonly AskedMachine[]) {
      const compute = { hypervisor_hostname: lower, hypervisor_type: string };
      const ids = computed.ids(nodesOf(machines));
      return read(database, compute, "compute_nodes WHERE id IN (...) ORDER BY id", ids, trx);
    },
    caches(instances: readonly string[]) {
      const what = columnList(database, ["instance_uuid", "network_info"]);
      return raw(what, "instance_info_caches WHERE instance_uuid IN (...)", instances);
    },
    /** Flavors that instances carry with them, since Kilo. */
    copies(instances: readonly string[]) {
      const from = "instance_extra WHERE instance_uuid IN (...) AND deleted = 0";
      const copy = { instance_uuid: lower, flavor: text };
      return read(database, copy, from, carries ? instances : [], trx);
    },
    metadata(instances: readonly string[]) {
      const what = `${columnList(database, ["instance_uuid", "value"])}, ${whole(engine, quoted(engine, "key"))} AS name`;
      const table = "instance_system_metadata WHERE";
      return described === null
        ? raw(what, `${table} instance_uuid IN (...) AND ${kept} ORDER BY id`, instances)
        : raw(what, `${table} id IN (...) ORDER BY id`, described.ids(instances));
    },
  };
}

function nodesOf(machines: readonly AskedMachine[]): readonly string[] {
  return machines.flatMap(({ uuid }) => uuid || []);
}
