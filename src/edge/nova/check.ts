import type { StoredText } from "../../model/charset.ts";
import type { BmFacts, NovaFacts } from "../../model/check.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { quoted, read, sql } from "../database/read.ts";
import { number, spellings, string, text } from "../database/rows.ts";
import { storedTexts } from "../database/stored-text.ts";
import { readDeployImages } from "./flavors.ts";
import { novaVersion } from "./open.ts";
import { METADATA } from "./read.ts";
import { readBeats } from "./services.ts";

const INSTANCE = {
  ...{ uuid: string, host: text, node: text, vm_state: text, task_state: text },
  deleted: (value: unknown) => softDeleted(value) === true,
  image: sql("image_ref", (value) => text(value) || null),
};

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
  const listed = (column: string, values: readonly string[], live = "") =>
    read(
      database,
      INSTANCE,
      `instances WHERE ${live} ${column} IN (...) ORDER BY ${column}`,
      values,
    );
  const claimed = spellings([...nodes.map(({ instance_uuid }) => instance_uuid), ...held]);
  const named = await listed("uuid", claimed);
  const placed = await listed("node", spellings(nodes.map(({ uuid }) => uuid)), "deleted = 0 AND");
  // One nova-compute has one driver: all instances of its host are machines'.
  const hosts = new Set(nodes.flatMap(({ service_host }) => service_host ?? []));
  const hosted = await listed("host", [...hosts], "deleted = 0 AND");
  const instances = new Map([...named, ...placed, ...hosted].map((row) => [row.uuid, row]));
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
  const from =
    "block_device_mapping WHERE deleted = 0 AND volume_id IS NOT NULL AND instance_uuid IN (...) ORDER BY instance_uuid";
  const rows = await read(database, { instance_uuid: string }, from, instances);
  return [...new Set(rows.map(({ instance_uuid }) => instance_uuid))];
}

/** Null before Liberty, which brought the column: nova-compute asks no records there. */
async function readEvacuations(
  database: Database,
  instances: readonly string[],
): Promise<NovaFacts["evacuations"]> {
  if (!(await columnNames(database, "migrations")).includes("migration_type")) return null;
  const source = sql("source_compute", (value) => text(value) ?? "an unknown host");
  const from =
    "migrations WHERE deleted = 0 AND migration_type = 'evacuation' AND status IN ('accepted', 'pre-migrating', 'done') AND instance_uuid IN (...) ORDER BY instance_uuid";
  return read(database, { instance_uuid: string, source }, from, instances);
}

/** Hosts in live aggregates: nova_api keeps no others. @source facts/nova-bm.md 5.1 */
export async function readAggregates(
  database: Database,
  place: "nova" | "nova_api" = "nova",
): Promise<NovaFacts["aggregates"]> {
  const tables = await tableNames(database);
  if (!tables.has("aggregates") || !tables.has("aggregate_hosts")) return null;
  const live = place === "nova" ? "WHERE h.deleted = 0 AND a.deleted = 0" : "";
  const rows = await read(
    database,
    { host: sql("h.host", string), id: sql("a.id", number), name: sql("a.name", text) },
    `aggregate_hosts h JOIN aggregates a ON a.id = h.aggregate_id ${live} ORDER BY a.id, h.host`,
  );
  return rows.map((row) => ({ ...row, name: row.name ?? `aggregate ${row.id}` }));
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
  const key = quoted(database.engine, "key");
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
