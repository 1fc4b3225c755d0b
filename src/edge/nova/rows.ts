import type { Knex } from "knex";
import { indexByText } from "../database/by-text.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, type RawRow, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";

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

const INSTANCE =
  "uuid, host, node, vm_state, task_state, power_state, deleted, launched_at, image_ref, kernel_id, " +
  "ramdisk_id, root_gb, ephemeral_gb, memory_mb, vcpus, display_name, project_id, instance_type_id";

/** system_metadata keys worth keeping: admin passwords stand in others. */
export const METADATA =
  "('image_base_image_ref','image_disk_format','image_kernel_id','image_ramdisk_id','instance_type_flavorid','instance_type_name')";

/** @source facts/nova-bm.md 5.1: neither instances.node nor compute_nodes.hypervisor_hostname has an index */
export async function novaRows(database: Database, trx: Knex): Promise<NovaRows> {
  const { engine } = database;
  const columns = (names: string): string => columnsIn(database, names);
  const instance = `id, ${columns(INSTANCE)}`;
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

  const ask = asking(database, trx);
  return {
    async instances(machines) {
      const named = spellings(machines.map(({ instance_uuid }) => instance_uuid));
      const direct = await ask("instances", instance, "uuid", named, "ORDER BY uuid");
      const known = new Set(direct.map(({ id }) => integer(id)));
      const others = placed.ids(nodesOf(machines)).filter((id) => !known.has(id));
      return [...direct, ...(await ask("instances", instance, "id", others, "ORDER BY uuid"))];
    },
    computes: (machines) =>
      ask(
        "compute_nodes",
        columns("hypervisor_hostname, hypervisor_type"),
        "id",
        computed.ids(nodesOf(machines)),
        "ORDER BY id",
      ),
    caches: (instances) =>
      ask(
        "instance_info_caches",
        columns("instance_uuid, network_info"),
        "instance_uuid",
        instances,
      ),
    copies: (instances) =>
      ask(
        "instance_extra",
        columns("instance_uuid, flavor"),
        "instance_uuid",
        carries ? instances : [],
        "AND deleted = 0",
      ),
    metadata(instances) {
      const wanted = `${columns("instance_uuid, value")}, ${whole(engine, `${key}`)} AS name`;
      return described === null
        ? ask(
            "instance_system_metadata",
            wanted,
            "instance_uuid",
            instances,
            `AND ${kept} ORDER BY id`,
          )
        : ask("instance_system_metadata", wanted, "id", described.ids(instances), "ORDER BY id");
    },
  };
}

function columnsIn({ engine }: Database, names: string): string {
  const named = names.split(", ").map((name) => `${whole(engine, name)} AS ${name}`);
  return named.join(",");
}

type Ask = (
  table: string,
  what: string,
  column: string,
  values: readonly (string | number)[],
  more?: string,
) => Rows;

function asking(database: Database, trx: Knex): Ask {
  return async (table, what, column, values, more = "") => {
    if (values.length === 0) return [];
    const sql = `SELECT ${what} FROM ${table} WHERE ${column} IN (${marks(values)}) ${more}`;
    return database.run(`reading ${table}`, () => select(database, trx, sql, values));
  };
}

function nodesOf(machines: readonly AskedMachine[]): readonly string[] {
  return machines.map(({ uuid }) => text(uuid) ?? "").filter((uuid) => uuid !== "");
}

/** As written and in lower case: PostgreSQL and SQLite compare exactly. */
function spellings(values: readonly (string | null)[]): readonly string[] {
  const given = values.filter((value): value is string => value !== null && value !== "");
  return [...new Set(given.flatMap((value) => [value, value.toLowerCase()]))];
}
