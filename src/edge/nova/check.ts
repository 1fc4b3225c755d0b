import type { StoredText } from "../../model/charset.ts";
import type { Beat, BmFacts, NovaFacts } from "../../model/check.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { ask, askIn, columnList, integer, spellings, text, time, whole } from "../database/rows.ts";
import { storedTexts } from "../database/stored-text.ts";
import { readDeployImages } from "./flavors.ts";
import { novaVersion } from "./open.ts";
import { METADATA } from "./rows.ts";

const INSTANCE = ["deleted", "uuid", "host", "node", "vm_state", "task_state", "image_ref"];

type Nodes = BmFacts["nodes"];

/**
 * What the readiness check wants of nova, but for the second look at heartbeats.
 *
 * @param nodes nova_bm's machines
 * @param held instances that Ironic's nodes have
 * @throws MigrationError N2I-E202, N2I-E203, N2I-E206
 */
export async function checkNova(
  database: Database,
  nodes: Nodes,
  held: readonly string[],
): Promise<Omit<NovaFacts, "later" | "forbidden" | "queued" | "unqueued">> {
  const { schema_version: version } = await novaVersion(database);
  const columns = columnList(database, INSTANCE);
  const listed = (column: string, values: readonly string[], live = "") => {
    const sql = `SELECT ${columns} FROM instances WHERE ${live} ${column} IN (...) ORDER BY ${column}`;
    return askIn(database, "reading instances", sql, values);
  };
  const claimed = spellings([...nodes.map(({ instance_uuid }) => instance_uuid), ...held]);
  const named = await listed("uuid", claimed);
  const placed = await listed("node", spellings(nodes.map(({ uuid }) => uuid)), "deleted = 0 AND");
  // One nova-compute has one driver: all instances of its host are machines'.
  const hosts = new Set(nodes.flatMap(({ service_host }) => service_host ?? []));
  const hosted = await listed("host", [...hosts], "deleted = 0 AND");
  const instances = new Map(
    [...named, ...placed, ...hosted].map((row) => [
      text(row.uuid) ?? "",
      {
        uuid: text(row.uuid) ?? "",
        host: text(row.host),
        node: text(row.node),
        vm_state: text(row.vm_state),
        task_state: text(row.task_state),
        deleted: softDeleted(row.deleted) === true,
        image: text(row.image_ref) || null,
      },
    ]),
  );
  const ours = [...instances.keys()];
  const tables = await tableNames(database);
  return {
    version,
    instances: [...instances.values()],
    volumes: tables.has("block_device_mapping") ? await readVolumes(database, ours) : null,
    evacuations: tables.has("migrations") ? await readEvacuations(database, ours) : null,
    flavors: await readDeployImages(database),
    aggregates: await readAggregates(database),
    beats: await readBeats(database),
    texts: await novaTexts(database, ours),
  };
}

/** Those of the instances that have volumes. */
async function readVolumes(
  database: Database,
  instances: readonly string[],
): Promise<readonly string[]> {
  const sql = `SELECT ${columnList(database, ["instance_uuid"])} FROM block_device_mapping WHERE deleted = 0 AND volume_id IS NOT NULL AND instance_uuid IN (...) ORDER BY instance_uuid`;
  const rows = await askIn(database, "reading block_device_mapping", sql, instances);
  return [...new Set(rows.map(({ instance_uuid }) => text(instance_uuid) ?? ""))];
}

/** Null before Liberty, which brought the column: nova-compute asks no records there. */
async function readEvacuations(
  database: Database,
  instances: readonly string[],
): Promise<NovaFacts["evacuations"]> {
  if (!(await columnNames(database, "migrations")).includes("migration_type")) return null;
  const sql = `SELECT ${columnList(database, ["instance_uuid", "source_compute"])} FROM migrations WHERE deleted = 0 AND migration_type = 'evacuation' AND status IN ('accepted', 'pre-migrating', 'done') AND instance_uuid IN (...) ORDER BY instance_uuid`;
  const rows = await askIn(database, "reading migrations", sql, instances);
  return rows.map((row) => ({
    instance_uuid: text(row.instance_uuid) ?? "",
    source: text(row.source_compute) ?? "an unknown host",
  }));
}

/** What nova-compute services say of themselves now. */
export async function readBeats(database: Database): Promise<readonly Beat[]> {
  const seen = (await columnNames(database, "services")).includes("last_seen_up");
  const sql = `SELECT id, ${whole(database.engine, "host")} AS host, report_count${seen ? ", last_seen_up" : ""} FROM services WHERE deleted = 0 AND ${database.knex.ref("binary")} = 'nova-compute' ORDER BY id`;
  const rows = await ask(database, "reading services", sql);
  return rows.map((row) => ({
    id: integer(row.id) ?? 0,
    host: text(row.host) ?? "",
    report_count: integer(row.report_count),
    last_seen_up: time(row.last_seen_up),
  }));
}

/** Hosts in live aggregates: nova_api keeps no others. @source facts/nova-bm.md 5.1 */
export async function readAggregates(
  database: Database,
  place: "nova" | "nova_api" = "nova",
): Promise<NovaFacts["aggregates"]> {
  const tables = await tableNames(database);
  if (!tables.has("aggregates") || !tables.has("aggregate_hosts")) return null;
  const { engine } = database;
  const live = place === "nova" ? "WHERE h.deleted = 0 AND a.deleted = 0 " : "";
  const sql = `SELECT ${whole(engine, "h.host")} AS host, a.id AS id, ${whole(engine, "a.name")} AS name FROM aggregate_hosts h JOIN aggregates a ON a.id = h.aggregate_id ${live}ORDER BY a.id, h.host`;
  const rows = await ask(database, "reading aggregate_hosts", sql);
  return rows.map((row) => ({
    host: text(row.host) ?? "",
    id: integer(row.id) ?? 0,
    name: text(row.name) ?? `aggregate ${integer(row.id)}`,
  }));
}

const LIVE = "deleted = 0";

/**
 * How nova keeps the names this tool writes or goes by: hosts and nodes, and what machines' records
 * take from instances and flavors.
 *
 * @param instances uuids of those on our machines
 * @throws MigrationError N2I-E206
 * @source facts/nova-bm.md 4.3, 5.1
 */
function novaTexts(
  database: Database,
  instances: readonly string[],
): Promise<readonly StoredText[]> {
  const key = `${database.knex.ref("key")}`;
  return storedTexts(database, [
    {
      ...{ table: "instances", columns: ["host", "node", "display_name"], where: LIVE },
      of: { column: "uuid", values: instances },
    },
    {
      ...{ table: "instance_system_metadata", columns: ["value"] },
      where: `${LIVE} AND ${key} IN ${METADATA}`,
      of: { column: "instance_uuid", values: instances },
    },
    { table: "instance_types", columns: ["name", "flavorid"], where: LIVE },
    { table: "instance_type_extra_specs", columns: ["key", "value"], where: LIVE },
    { table: "services", columns: ["host", "disabled_reason"], where: LIVE },
    { table: "compute_nodes", columns: ["host", "hypervisor_hostname"], where: LIVE },
    { table: "aggregate_hosts", columns: ["host"], where: LIVE },
  ]);
}

/** The same of nova_api, which keeps no deleted rows. */
export function apiTexts(database: Database): Promise<readonly StoredText[]> {
  return storedTexts(database, [
    { table: "flavors", columns: ["name", "flavorid"] },
    { table: "flavor_extra_specs", columns: ["key", "value"] },
  ]);
}
