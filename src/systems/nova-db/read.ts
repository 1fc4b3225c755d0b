import { grouped } from "../../lib/grouped.ts";
import { isObject, parsedJson } from "../../lib/json.ts";
import { normaliseMac } from "../../lib/mac.ts";
import { show } from "../../lib/text.ts";
import type { Flavor, Instance, NovaView, Vif } from "../../model/machine.ts";
import { embeddedFlavor } from "../../model/nova/embedded.ts";
import { index, type TextSet } from "../../model/rows.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import { type Database, readTransaction } from "../database/open.ts";
import {
  indexByText,
  inOrder,
  type RowOf,
  read,
  rowReader,
  sql,
  valuesBy,
} from "../database/read.ts";
import {
  ask,
  columnList,
  garbled,
  garbledColumns,
  integer,
  lower,
  quoted,
  type RawRow,
  spellings,
  string,
  text,
  time,
} from "../database/rows.ts";
import { readFlavors } from "./flavors.ts";
import { computeServices } from "./services.ts";

/** Reads one snapshot, in batches. @param claimed instances of bm_nodes @source facts/nova-bm.md 4.1, 4.3, 5.1 */
export async function openNova(opened: Database, claimed: TextSet) {
  const database = await readTransaction(opened);
  const hosts = await read(database, { host: string }, computeServices(database));
  const services = new Set(hosts.map(({ host }) => host));
  const nova = await novaRows(database, claimed);
  const flavors = new Map<number, Flavor>();
  return {
    close: database.close,
    /** One result per machine, in order. */
    async view(machines: readonly RequestedMachine[]): Promise<readonly NovaView[]> {
      const rows = await nova.instances(machines);
      const uuids = [...new Set(rows.map(({ uuid }) => text(uuid) ?? ""))];
      const byInstance = ({ instance_uuid }: RawRow) => lower(instance_uuid);
      const caches = grouped(await nova.caches(uuids), byInstance);
      const linked = new Set(machines.map(({ instance_uuid }) => lower(instance_uuid)));
      const described = await nova.metadata(uuids.filter((uuid) => linked.has(uuid.toLowerCase())));
      const metadata = grouped(described, ({ instance }) => instance);
      const cells = [
        ...cellsIn(database, "instances", rows, ({ uuid }) => lower(uuid)),
        ...cellsIn(database, "instance_info_caches", [...caches.values()].flat(), byInstance),
        ...described.flatMap(({ instance, garbled }) =>
          garbled ? [{ instance, column: "instance_system_metadata.value" }] : [],
        ),
      ];
      const garbledCells = valuesBy(cells, "instance", "column");
      await readFlavors(database, rows, flavors);
      const copies = new Map(
        (await nova.copies(uuids)).map(({ instance_uuid, flavor }) => [
          instance_uuid,
          embeddedFlavor(flavor),
        ]),
      );
      const instances = rows.map((row) => toInstance(row, { caches, metadata, flavors, copies }));
      const undecided = undecidedIn(rows);
      const byUuid = new Map(instances.map((instance) => [instance.uuid.toLowerCase(), instance]));
      const onNode = grouped(
        instances.filter((instance) => !instance.deleted),
        ({ node }) => lower(node),
      );
      return machines.map(({ uuid, instance_uuid, service_host }) => {
        const unsaid = undecided.get(lower(instance_uuid));
        const garbled = garbledCells.get(lower(instance_uuid));
        return {
          ...(garbled !== undefined && { garbled }),
          ...(unsaid !== undefined && { undecided: unsaid }),
          instance: byUuid.get(lower(instance_uuid)) ?? null,
          ...foreignInstancesOf(onNode.get(lower(uuid)) ?? [], instance_uuid),
          service: service_host !== null && services.has(service_host),
          compute_nodes: nova.computes(lower(uuid)).map(({ type }) => type),
        };
      });
    },
  };
}

/** States of an instance that never ran. @source facts/nova-bm.md 2.3 */
const UNBUILT: ReadonlySet<string | null> = new Set(["building", "error"]);

/** Live instances on a node that bm_nodes does not have there. */
function foreignInstancesOf(
  onNode: readonly Instance[],
  instanceUuid: string | null,
): Pick<NovaView, "others" | "placed"> {
  const foreign = onNode.filter(({ uuid }) => uuid.toLowerCase() !== instanceUuid?.toLowerCase());
  return {
    others: foreign.map(({ uuid }) => uuid),
    ...(foreign.some(({ vm_state }) => !UNBUILT.has(vm_state)) && { placed: true }),
  };
}

function undecidedIn(rows: readonly RawRow[]): ReadonlyMap<string, string> {
  return new Map(
    rows
      .filter(({ deleted }) => typeof softDeleted(deleted) !== "boolean")
      .map(({ uuid, deleted }) => [
        text(uuid)?.toLowerCase() ?? "",
        deleted === null ? "NULL" : show(text(deleted) ?? ""),
      ]),
  );
}

function cellsIn(
  { engine }: Database,
  table: string,
  rows: readonly RawRow[],
  instanceOf: (row: RawRow) => string,
) {
  return rows.flatMap((row) =>
    garbledColumns(engine, row).map((column) => ({
      instance: instanceOf(row),
      column: `${table}.${column}`,
    })),
  );
}

/** Rows of other tables by the instance's lower-case uuid, and flavors by id. */
interface RelatedRows {
  readonly caches: ReadonlyMap<string, readonly RawRow[]>;
  readonly metadata: ReadonlyMap<string, readonly Described[]>;
  readonly copies: ReadonlyMap<string, Flavor | null>;
  readonly flavors: ReadonlyMap<number, Flavor>;
}

function toInstance(row: RawRow, { caches, metadata, copies, flavors }: RelatedRows): Instance {
  const base = readInstance(row);
  const key = base.uuid.toLowerCase();
  const copy = copies.get(key) ?? null;
  const images = Object.entries(copy?.extra_specs ?? {}).flatMap(([name, value]) =>
    name.startsWith("baremetal:deploy_") ? [value || "(empty)"] : [],
  );
  return {
    ...base,
    flavor: copy ?? flavors.get(integer(row.instance_type_id) ?? -1) ?? null,
    ...(images.length > 0 && { copied_images: images }),
    system_metadata: Object.fromEntries(
      (metadata.get(key) ?? []).map(({ name, value }) => [name, value]),
    ),
    vifs: parseVifs(text(caches.get(key)?.[0]?.network_info)),
  };
}

/**
 * A JSON list with a Neutron port's `id` and its MAC `address` per item. Null if malformed.
 *
 * @source facts/nova-bm.md 1.8
 */
function parseVifs(json: string | null): readonly Vif[] | null {
  if (json === null || json === "") return null;
  const parsed = parsedJson(json);
  if (!Array.isArray(parsed)) return null;
  const vifs: Vif[] = [];
  for (const item of parsed) {
    if (!isObject(item) || typeof item.id !== "string" || typeof item.address !== "string")
      return null;
    const address = normaliseMac(item.address);
    if (address === null) return null;
    vifs.push({ id: item.id, address });
  }
  return vifs;
}

interface RequestedMachine {
  readonly id: number;
  readonly uuid: string | null;
  readonly instance_uuid: string | null;
  readonly service_host: string | null;
}

const INSTANCE = {
  ...{ uuid: string, host: text, node: text, vm_state: text, task_state: text },
  ...{ power_state: integer, deleted: (value: unknown) => softDeleted(value) === true },
  ...{ launched_at: time, image_ref: text, kernel_id: text, ramdisk_id: text, root_gb: integer },
  ...{ ephemeral_gb: integer, memory_mb: integer, vcpus: integer, display_name: text },
  project_id: text,
};

const readInstance = rowReader(INSTANCE);

/**
 * @source facts/nova-bm.md 5.1: neither instances.node nor compute_nodes.hypervisor_hostname has an index
 */
async function novaRows(database: Database, claimed: TextSet) {
  const columns = [...Object.keys(INSTANCE), "instance_type_id", "id"];
  const instance = columnList(database, columns);
  const cache = columnList(database, ["instance_uuid", "network_info"]);
  const onNodes = "deleted = 0 AND node IS NOT NULL";
  const idsOf = await indexByText(database, "instances", "node", onNodes);
  const computes = await computeNodes(database);
  // Only MySQL indexes a foreign key.
  const described =
    database.engine === "mysql" ? null : index(await readMetadata(database, claimed), "instance");

  const carries =
    (await tableNames(database)).has("instance_extra") &&
    (await columnNames(database, "instance_extra")).includes("flavor");

  const raw = (table: string, column: string, names: string, values: readonly unknown[]) => {
    const sql = `SELECT ${names} FROM {${table}.${column}} WHERE ${column} IN (...) ORDER BY 1`;
    return ask(database, `reading ${table}`, sql, values);
  };
  return {
    /** Instances of bm_nodes, including deleted ones, and live ones on these nodes. */
    async instances(machines: readonly RequestedMachine[]) {
      const uuids = spellings(machines.map(({ instance_uuid }) => instance_uuid));
      const direct = await raw("instances", "uuid", instance, uuids);
      const ids = new Set(direct.map(({ id }) => integer(id)));
      const placed = idsOf(machines.flatMap(({ uuid }) => uuid || []));
      const placedIds = placed.filter((id) => !ids.has(id));
      return [...direct, ...(await raw("instances", "id", instance, placedIds))];
    },
    /** Live rows of a node, by id. */
    computes,
    caches: (instances: readonly string[]) =>
      raw("instance_info_caches", "instance_uuid", cache, instances),
    /** Flavors embedded in instances, since Kilo. */
    copies(instances: readonly string[]) {
      const from = "{instance_extra.instance_uuid} WHERE instance_uuid IN (...) AND deleted = 0";
      const copy = { instance_uuid: lower, flavor: text };
      return read(database, copy, from, carries ? instances : []);
    },
    /** Instances outside the cached set are queried by key. */
    async metadata(instances: readonly string[]): Promise<readonly Described[]> {
      const isCached = (uuid: string): boolean => described !== null && claimed.has(uuid);
      const from = `{instance_system_metadata.instance_uuid} WHERE instance_uuid IN (...) AND ${savedMetadata(database)} ORDER BY id`;
      const uncached = instances.filter((uuid) => !isCached(uuid));
      return [
        ...instances.flatMap((uuid) => (isCached(uuid) ? (described?.(uuid) ?? []) : [])),
        ...(await read(database, describedBy(database), from, uncached)),
      ];
    },
  };
}

/** Keeps little more than a uuid per row. Queries by id per batch took four times as long. */
async function computeNodes(database: Database) {
  const fields = { node: sql("hypervisor_hostname", lower), type: sql("hypervisor_type", string) };
  const rows: RowOf<typeof fields>[] = [];
  const live = "deleted = 0 AND hypervisor_hostname IS NOT NULL";
  for await (const page of inOrder(database, fields, "compute_nodes", live))
    for (const row of page) rows.push(row);
  return index(rows, "node");
}

/** Without other keys, because some contain admin passwords. */
const METADATA =
  "('image_base_image_ref','image_disk_format','image_kernel_id','image_ramdisk_id','instance_type_flavorid','instance_type_name')";

function savedMetadata({ engine }: Pick<Database, "engine">): string {
  return `${quoted(engine, "key")} IN ${METADATA} AND deleted = 0`;
}

type Described = RowOf<ReturnType<typeof describedBy>>;

function describedBy({ engine }: Pick<Database, "engine">) {
  return {
    ...{ instance: sql("instance_uuid", lower), name: sql(quoted(engine, "key"), string) },
    // Only SQLite returns text that is not UTF-8.
    ...{ value: text, garbled: sql(engine === "sqlite" ? "value" : "NULL", garbled) },
  };
}

/**
 * Reads instance_system_metadata (about 20 rows per instance) once and keeps the machines' rows.
 */
export async function readMetadata(database: Database, claimed: TextSet) {
  const rows: Described[] = [];
  const [fields, condition] = [describedBy(database), savedMetadata(database)];
  for await (const page of inOrder(database, fields, "instance_system_metadata", condition))
    for (const row of page) if (claimed.has(row.instance)) rows.push(row);
  return rows;
}
