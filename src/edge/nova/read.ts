import type { Knex } from "knex";
import type { Flavor, Instance, NovaView } from "../../model/machine.ts";
import type { Database } from "../database/open.ts";
import { readTransaction } from "../database/read-transaction.ts";
import { integer, marks, type RawRow, select, text, time } from "../database/rows.ts";
import { readFlavors } from "./flavors.ts";
import { parseVifs } from "./vifs.ts";

/** What of a bm_nodes row the nova database is asked about. */
export interface Asked {
  readonly id: number;
  readonly uuid: string | null;
  readonly instance_uuid: string | null;
  readonly service_host: string | null;
}

export interface NovaReader {
  /** One answer for each machine asked about, in their order. */
  readonly view: (machines: readonly Asked[]) => Promise<readonly NovaView[]>;
  readonly close: () => Promise<void>;
}

const INSTANCE =
  "uuid, host, node, vm_state, task_state, power_state, deleted, launched_at, image_ref, kernel_id, " +
  "ramdisk_id, root_gb, ephemeral_gb, memory_mb, vcpus, display_name, project_id, instance_type_id";

/** system_metadata keys worth keeping: admin passwords stand in others. */
const METADATA =
  "('image_base_image_ref','image_kernel_id','image_ramdisk_id','instance_type_flavorid','instance_type_name')";

/**
 * Reads what Nova knows of machines, batch by batch, all of one moment.
 *
 * @source facts/nova-bm.md 4.1, 4.3, 5.1
 */
export async function openNova(database: Database): Promise<NovaReader> {
  const trx = await readTransaction(database);
  const services = await serviceHosts(database, trx);
  const flavors = new Map<number, Flavor>();
  return {
    close: async () => {
      await trx.rollback();
    },
    async view(machines) {
      const rows = await instancesOf(database, trx, machines);
      const uuids = [...new Set(rows.map(({ uuid }) => text(uuid) ?? ""))];
      const [caches, metadata, computes] = [
        await byInstance(
          database,
          trx,
          "instance_info_caches",
          "instance_uuid, network_info",
          "",
          uuids,
        ),
        await byInstance(
          database,
          trx,
          "instance_system_metadata",
          `instance_uuid, ${database.knex.ref("key")} AS name, value`,
          `AND ${database.knex.ref("key")} IN ${METADATA} AND deleted = 0`,
          uuids,
        ),
        await computeNodes(database, trx, machines),
      ];
      await readFlavors(database, trx, rows, flavors);
      const instances = rows.map((row) => toInstance(row, caches, metadata, flavors));
      const byUuid = new Map(instances.map((instance) => [instance.uuid.toLowerCase(), instance]));
      const onNode = groupBy(
        instances.filter((instance) => !instance.deleted),
        ({ node }) => node,
      );
      return machines.map(({ uuid, instance_uuid, service_host }) => ({
        instance: byUuid.get(instance_uuid?.toLowerCase() ?? "") ?? null,
        others: (onNode.get(uuid?.toLowerCase() ?? "") ?? [])
          .map((instance) => instance.uuid)
          .filter((other) => other.toLowerCase() !== instance_uuid?.toLowerCase()),
        service: service_host !== null && services.has(service_host),
        compute_nodes: computes.get(uuid?.toLowerCase() ?? "") ?? [],
      }));
    },
  };
}

async function serviceHosts(database: Database, trx: Knex): Promise<ReadonlySet<string>> {
  const rows = await database.run("reading services", () =>
    select(
      database,
      trx,
      `SELECT host FROM services WHERE ${database.engine === "mysql" ? "`binary`" : '"binary"'} = 'nova-compute' AND deleted = 0`,
    ),
  );
  return new Set(rows.map(({ host }) => text(host) ?? ""));
}

/** Instances bm_nodes names, deleted ones too, and live ones that name one of the nodes. */
async function instancesOf(
  database: Database,
  trx: Knex,
  machines: readonly Asked[],
): Promise<readonly RawRow[]> {
  const named = spellings(machines.map(({ instance_uuid }) => instance_uuid));
  const nodes = spellings(machines.map(({ uuid }) => uuid));
  const ask = (where: string, values: readonly string[]) =>
    values.length === 0
      ? Promise.resolve([])
      : database.run("reading instances", () =>
          select(
            database,
            trx,
            `SELECT ${INSTANCE} FROM instances WHERE ${where} IN (${marks(values)}) ${where === "node" ? "AND deleted = 0" : ""} ORDER BY uuid`,
            values,
          ),
        );
  const direct = await ask("uuid", named);
  const known = new Set(direct.map(({ uuid }) => text(uuid)));
  const placed = await ask("node", nodes);
  return [...direct, ...placed.filter(({ uuid }) => !known.has(text(uuid)))];
}

/** As written and in lower case: PostgreSQL and SQLite compare exactly. */
function spellings(values: readonly (string | null)[]): readonly string[] {
  const given = values.filter((value): value is string => value !== null && value !== "");
  return [...new Set(given.flatMap((value) => [value, value.toLowerCase()]))];
}

async function byInstance(
  database: Database,
  trx: Knex,
  table: string,
  columns: string,
  condition: string,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, readonly RawRow[]>> {
  if (uuids.length === 0) return new Map();
  const rows = await database.run(`reading ${table}`, () =>
    select(
      database,
      trx,
      `SELECT ${columns} FROM ${table} WHERE instance_uuid IN (${marks(uuids)}) ${condition}`,
      uuids,
    ),
  );
  return groupBy(rows, ({ instance_uuid }) => text(instance_uuid));
}

async function computeNodes(
  database: Database,
  trx: Knex,
  machines: readonly Asked[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const nodes = spellings(machines.map(({ uuid }) => uuid));
  if (nodes.length === 0) return new Map();
  const rows = await database.run("reading compute_nodes", () =>
    select(
      database,
      trx,
      `SELECT hypervisor_hostname, hypervisor_type FROM compute_nodes WHERE deleted = 0 AND hypervisor_hostname IN (${marks(nodes)}) ORDER BY id`,
      nodes,
    ),
  );
  const grouped = groupBy(rows, ({ hypervisor_hostname }) => text(hypervisor_hostname));
  return new Map(
    [...grouped].map(([key, list]) => [key, list.map((row) => text(row.hypervisor_type) ?? "")]),
  );
}

function groupBy<T>(
  items: readonly T[],
  key: (item: T) => string | null,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item)?.toLowerCase() ?? "";
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}

function toInstance(
  row: RawRow,
  caches: ReadonlyMap<string, readonly RawRow[]>,
  metadata: ReadonlyMap<string, readonly RawRow[]>,
  flavors: ReadonlyMap<number, Flavor>,
): Instance {
  const uuid = text(row.uuid) ?? "";
  const key = uuid.toLowerCase();
  return {
    uuid,
    host: text(row.host),
    node: text(row.node),
    vm_state: text(row.vm_state),
    task_state: text(row.task_state),
    power_state: integer(row.power_state),
    deleted: integer(row.deleted) !== 0 && row.deleted !== null,
    launched_at: time(row.launched_at),
    image_ref: text(row.image_ref),
    kernel_id: text(row.kernel_id),
    ramdisk_id: text(row.ramdisk_id),
    root_gb: integer(row.root_gb),
    ephemeral_gb: integer(row.ephemeral_gb),
    memory_mb: integer(row.memory_mb),
    vcpus: integer(row.vcpus),
    display_name: text(row.display_name),
    project_id: text(row.project_id),
    flavor: flavors.get(integer(row.instance_type_id) ?? -1) ?? null,
    system_metadata: Object.fromEntries(
      (metadata.get(key) ?? []).map(({ name, value }) => [text(name) ?? "", text(value)]),
    ),
    vifs: parseVifs(text(caches.get(key)?.[0]?.network_info)),
  };
}
