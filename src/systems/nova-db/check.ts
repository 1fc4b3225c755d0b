import type { BmFacts, NovaFacts } from "../../model/check.ts";
import { createTextSet, index } from "../../model/rows.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { inOrder, read, sql } from "../database/read.ts";
import { integer, marks, number, spellings, string, text } from "../database/rows.ts";
import { readDeployImages } from "./flavors.ts";
import { novaVersion } from "./plan-open.ts";
import { readServices } from "./services.ts";

const INSTANCE = {
  ...{ uuid: string, host: text, node: text, vm_state: text, task_state: text },
  deleted: (value: unknown) => softDeleted(value) === true,
  image: sql("image_ref", (value) => text(value) || null),
};

type Nodes = BmFacts["nodes"];
type InstanceFacts = NovaFacts["instances"][number];

/** @param linked instances of Ironic's nodes @throws MigrationError N2I-E202, N2I-E203, N2I-E206 */
export async function checkNova(database: Database, nodes: Nodes, linked: Iterable<string | null>) {
  const { schema_version: version } = await novaVersion(database);
  const from = "{instances.uuid} WHERE uuid IN (...) ORDER BY uuid";
  const { add } = createTextSet();
  // The spelling of nova_bm first, which is Nova's.
  const all = [...nodes.map(({ instance_uuid }) => instance_uuid), ...linked];
  const distinct = all.filter((uuid) => uuid !== null && add(uuid));
  const found = await read(database, INSTANCE, from, spellings(distinct));
  const instances = [...found, ...(await unnamed(database, nodes, found))];
  const tables = await tableNames(database);
  const uuids = instances.map(({ uuid }) => uuid);
  return {
    version,
    instances,
    volumes: tables.has("block_device_mapping") ? await readVolumes(database, uuids) : null,
    evacuations: tables.has("migrations") ? await readEvacuations(database, uuids) : null,
    flavors: await readDeployImages(database),
    aggregates: await readAggregates(database),
    beats: await readServices(database),
  };
}

/**
 * On our machines first, then on their compute hosts. One scan, because neither column has an
 * index.
 */
async function unnamed(database: Database, nodes: Nodes, existing: NovaFacts["instances"]) {
  const hosts = new Set<string>();
  for (const { service_host } of nodes) if (service_host !== null) hosts.add(service_host);
  const among = `CASE WHEN host IN (${marks([...hosts])}) THEN 1 ELSE 0 END`;
  const fields = { ...INSTANCE, hosted: sql(hosts.size === 0 ? "0" : among, integer) };
  const [instances, machines] = [index(existing, "uuid"), index(nodes, "uuid")];
  const [placed, hosted]: [InstanceFacts[], InstanceFacts[]] = [[], []];
  for await (const rows of inOrder(database, fields, "instances", "deleted = 0", [...hosts]))
    for (const row of rows) {
      if (instances(row.uuid).some(({ uuid }) => uuid === row.uuid)) continue;
      if (machines(row.node).length > 0) placed.push(row);
      else if (row.hosted === 1) hosted.push(row);
    }
  return [
    ...placed.toSorted((one, other) => compareText(one.node, other.node)),
    ...hosted.toSorted((one, other) => compareText(one.host, other.host)),
  ];
}

function compareText(one: string | null, other: string | null): number {
  const [left, right] = [one ?? "", other ?? ""];
  return left < right ? -1 : Number(left > right);
}

async function readVolumes(database: Database, instances: readonly string[]) {
  const from =
    "{block_device_mapping.instance_uuid} WHERE deleted = 0 AND volume_id IS NOT NULL AND instance_uuid IN (...) ORDER BY instance_uuid";
  const rows = await read(database, { instance_uuid: string }, from, instances);
  return [...new Set(rows.map(({ instance_uuid }) => instance_uuid))];
}

/** Null before Liberty, which introduced the column. Before, nova-compute read no such records. */
export async function readEvacuations(database: Database, instances: readonly string[]) {
  if (!(await columnNames(database, "migrations")).includes("migration_type")) return null;
  const source = sql("source_compute", (value) => text(value) ?? "an unknown host");
  const from =
    "migrations WHERE deleted = 0 AND migration_type = 'evacuation' AND status IN ('accepted', 'pre-migrating', 'done') AND instance_uuid IN (...) ORDER BY instance_uuid";
  return read(database, { instance_uuid: string, source }, from, instances);
}

/** Hosts in live aggregates. nova_api stores no deleted ones. @source facts/nova-bm.md 5.1 */
export async function readAggregates(database: Database, schema: "nova" | "nova_api" = "nova") {
  const tables = await tableNames(database);
  if (!tables.has("aggregates") || !tables.has("aggregate_hosts")) return null;
  const live = schema === "nova" ? "WHERE h.deleted = 0 AND a.deleted = 0" : "";
  const rows = await read(
    database,
    { host: sql("h.host", string), id: sql("a.id", number), name: sql("a.name", text) },
    `aggregate_hosts h JOIN aggregates a ON a.id = h.aggregate_id ${live} ORDER BY a.id, h.host`,
  );
  return rows.map((row) => ({ ...row, name: row.name ?? `aggregate ${row.id}` }));
}
