import type { Knex } from "knex";
import { indexByText } from "../database/by-text.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import {
  askIn,
  columnList,
  integer,
  type RawRow,
  spellings,
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

type Rows = Promise<readonly RawRow[]>;

/** Nova's rows about a batch of machines, whatever indexes the server has. */
interface NovaRows {
  /** Instances bm_nodes names, deleted ones too, and live ones that name one of the nodes. */
  readonly instances: (machines: readonly AskedMachine[]) => Rows;
  /** Live rows of the nodes, in order of their ids; a few of other nodes may be among them. */
  readonly computes: (machines: readonly AskedMachine[]) => Rows;
  readonly caches: (instances: readonly string[]) => Rows;
  readonly metadata: (instances: readonly string[]) => Rows;
  /** Flavors that instances carry with them, since Kilo. */
  readonly copies: (instances: readonly string[]) => Rows;
}

const INSTANCE = [
  ...["uuid", "host", "node", "vm_state", "task_state", "power_state", "deleted", "launched_at"],
  ...["image_ref", "kernel_id", "ramdisk_id", "root_gb", "ephemeral_gb", "memory_mb", "vcpus"],
  ...["display_name", "project_id", "instance_type_id"],
];

/** system_metadata keys worth keeping: admin passwords stand in others. */
export const METADATA =
  "('image_base_image_ref','image_disk_format','image_kernel_id','image_ramdisk_id','instance_type_flavorid','instance_type_name')";

/** @source facts/nova-bm.md 5.1: neither instances.node nor compute_nodes.hypervisor_hostname has an index */
export async function novaRows(database: Database, trx: Knex): Promise<NovaRows> {
  const { engine } = database;
  const instance = `id, ${columnList(database, INSTANCE)}`;
  const index = (table: string, column: string, live: string) =>
    indexByText(database, trx, table, column, live);
  const key = database.knex.ref("key");
  const kept = `${key} IN ${METADATA} AND deleted = 0`;
  const placed = await index("instances", "node", "deleted = 0 AND node IS NOT NULL");
  const computed = await index(
    "compute_nodes",
    "hypervisor_hostname",
    "deleted = 0 AND hypervisor_hostname IS NOT NULL",
  );
  // A foreign key is an index on MySQL only.
  const described =
    engine === "mysql" ? null : await index("instance_system_metadata", "instance_uuid", kept);

  const carries =
    (await tableNames(database)).has("instance_extra") &&
    (await columnNames(database, "instance_extra")).includes("flavor");

  const read = (table: string, what: string, which: string, values: readonly unknown[]) => {
    const sql = `SELECT ${what} FROM ${table} WHERE ${which}`;
    return askIn(database, `reading ${table}`, sql, values, trx);
  };
  return {
    async instances(machines) {
      const named = spellings(machines.map(({ instance_uuid }) => instance_uuid));
      const direct = await read("instances", instance, "uuid IN (...) ORDER BY uuid", named);
      const known = new Set(direct.map(({ id }) => integer(id)));
      const others = placed.ids(nodesOf(machines)).filter((id) => !known.has(id));
      return [
        ...direct,
        ...(await read("instances", instance, "id IN (...) ORDER BY uuid", others)),
      ];
    },
    computes(machines) {
      const what = columnList(database, ["hypervisor_hostname", "hypervisor_type"]);
      const ids = computed.ids(nodesOf(machines));
      return read("compute_nodes", what, "id IN (...) ORDER BY id", ids);
    },
    caches(instances) {
      const what = columnList(database, ["instance_uuid", "network_info"]);
      return read("instance_info_caches", what, "instance_uuid IN (...)", instances);
    },
    copies(instances) {
      const what = columnList(database, ["instance_uuid", "flavor"]);
      const live = "instance_uuid IN (...) AND deleted = 0";
      return read("instance_extra", what, live, carries ? instances : []);
    },
    metadata(instances) {
      const what = `${columnList(database, ["instance_uuid", "value"])}, ${whole(engine, `${key}`)} AS name`;
      const of = `instance_uuid IN (...) AND ${kept} ORDER BY id`;
      return described === null
        ? read("instance_system_metadata", what, of, instances)
        : read(
            "instance_system_metadata",
            what,
            "id IN (...) ORDER BY id",
            described.ids(instances),
          );
    },
  };
}

function nodesOf(machines: readonly AskedMachine[]): readonly string[] {
  return machines.map(({ uuid }) => text(uuid) ?? "").filter((uuid) => uuid !== "");
}
