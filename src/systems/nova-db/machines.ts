import { groupedBy } from "../../lib/grouped.ts";
import { BATCH } from "../../lib/streams.ts";
import { isUuid } from "../../lib/uuid.ts";
import type { OwnedMachine } from "../../model/nova/host-move.ts";
import type { NovaIdentity } from "../../model/nova/nova-plan.ts";
import { hasMovedToApi } from "../../model/nova/nova-release.ts";
import type { MachineRows, NovaTables } from "../../model/nova/nova-rows.ts";
import { createTextSet } from "../../model/rows.ts";
import { tableNames } from "../database/identity.ts";
import { type Database, readTransaction } from "../database/open.ts";
import { inOrder, read, sql, valuesBy } from "../database/read.ts";
import { inPortions, integer, lower, number, spellings, string } from "../database/rows.ts";
import { computeHosts, openComputeRows, openOwners, openTenants, useOf } from "./by-node.ts";
import { readEvacuations } from "./check.ts";
import { attachedVolumes, openInstances } from "./instances.ts";
import { mustReadRequests, waitingRequests } from "./requests.ts";
import { readServices } from "./services.ts";

/** Keeps 16 bytes per live row. @throws MigrationError N2I-E206 if requests are unreadable */
export async function openMachines(database: Database) {
  await mustReadRequests(database);
  const [owners, tenants] = [await openOwners(database), await openTenants(database)];
  const records = (await tableNames(database)).has("migrations");
  const evacuations = async (instances: readonly string[]) =>
    groupedBy(
      records ? ((await readEvacuations(database, instances)) ?? []) : [],
      ({ instance_uuid }) => instance_uuid.toLowerCase(),
      ({ source }) => source,
    );
  return {
    /** Nodes that the host owns or its instances use, in pages. */
    owned: (host: string) => ownedBy(database, host),
    async of(nodes: readonly string[]): Promise<readonly OwnedMachine[]> {
      const [computes, instances] = [await owners(nodes), await tenants(nodes)];
      const all = [...instances.values()].flat();
      const queued = await waitingRequests(database, all);
      const evacuated = await evacuations(spellings(all.map(({ uuid }) => uuid)));
      return nodes.map((node) => {
        const nodeInstances = instances.get(node.toLowerCase()) ?? [];
        const keys = nodeInstances.map(({ uuid }) => uuid.toLowerCase());
        return {
          ...{ node, computes: computes.get(node.toLowerCase()) ?? [], instances: nodeInstances },
          evacuations: keys.flatMap((key) => evacuated.get(key) ?? []),
          queued: keys.flatMap((key) => queued.get(key) ?? []),
        };
      });
    },
  };
}

/** Unique nodes, case-insensitive: first offered ones, then others in use by instances. */
async function* ownedBy(database: Database, host: string): AsyncGenerator<readonly string[]> {
  const distinct = createTextSet();
  const { host: owner, from } = await computeHosts(database);
  const fresh = (page: readonly { readonly node: string }[]): readonly string[] =>
    page.flatMap(({ node }) => (distinct.add(node) ? [node] : []));
  const mine = `c.deleted = 0 AND c.hypervisor_type = 'ironic' AND ${owner} = ?`;
  const offered = { node: sql("c.hypervisor_hostname", string) };
  for await (const page of inOrder(database, offered, from, mine, [host]))
    yield* inPortions(fresh(page), BATCH);
  const used = "deleted = 0 AND host = ? AND node <> ''";
  for await (const page of inOrder(database, { node: string }, "instances", used, [host]))
    yield* inPortions(fresh(page), BATCH);
}

export async function busyInstances(database: Database, host: string): Promise<number> {
  const busy = "instances WHERE deleted = 0 AND task_state IS NOT NULL AND host = ?";
  const [row] = await read(database, { count: sql("count(*)", number) }, busy, [host]);
  return row?.count ?? 0;
}

/** Live instances of a host on another host's nodes. */
export async function servedElsewhere(database: Database, host: string) {
  const { host: owner, from } = await computeHosts(database);
  const other = `SELECT 1 FROM ${from} WHERE c.deleted = 0 AND lower(c.hypervisor_hostname) = lower(i.node) AND ${owner} <> ?`;
  const source = `instances i WHERE i.deleted = 0 AND i.host = ? AND EXISTS (${other}) ORDER BY i.id`;
  const rows = await read(database, { uuid: sql("i.uuid", string) }, source, [host, host]);
  return rows.map(({ uuid }) => uuid);
}

/**
 * Nodes that only instances name come last, and may have another driver. The ironic driver names
 * nodes by uuid.
 */
export async function* everyNode(database: Database): AsyncGenerator<readonly string[]> {
  const distinct = createTextSet();
  const computes = { node: sql("hypervisor_hostname", string) };
  const offered = "deleted = 0 AND hypervisor_type = 'ironic'";
  for await (const page of inOrder(database, computes, "compute_nodes", offered))
    yield* inPortions(page.map(({ node }) => node).filter(distinct.add), BATCH);
  const used = "deleted = 0 AND node <> ''";
  for await (const page of inOrder(database, { node: string }, "instances", used))
    yield* inPortions(
      page.flatMap(({ node }) => (isUuid(node) && distinct.add(node) ? [node] : [])),
      BATCH,
    );
}

/** Drivers by host, of live compute nodes. */
export async function hypervisorTypes(database: Database) {
  const { host: owner, from } = await computeHosts(database);
  const rows = await read(
    database,
    { host: sql(owner, string), type: sql("c.hypervisor_type", string) },
    `${from} WHERE c.deleted = 0 AND c.hypervisor_type <> '' AND ${owner} IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  return valuesBy(rows, "host", "type");
}

/** Cell by host, from nova_api. */
export async function hostMappings(database: Database) {
  const rows = await read(database, { host: string, cell_id: integer }, "host_mappings");
  return new Map(rows.map(({ host, cell_id }) => [host, cell_id]));
}

/** Opens a snapshot of the rows that a change of hosts depends on. @source facts/nova-bm.md 5.1 */
export async function openHosts(nova: Database, identity: NovaIdentity) {
  const database = await readTransaction(nova);
  await mustReadRequests(database);
  const tables = await readNovaTables(database, identity);
  const instancesOf = openInstances(database);
  const computesOf = await openComputeRows(database);
  return {
    ...{ tables, database, close: database.close },
    async rows(
      machines: readonly { readonly uuid: string | null; readonly instance_uuid: string | null }[],
    ): Promise<readonly MachineRows[]> {
      const uuids = machines.map(({ instance_uuid }) => instance_uuid);
      const instances = await instancesOf(uuids);
      const volumes = await attachedVolumes(database, uuids);
      const live = [...instances.values()].filter(({ deleted }) => deleted === 0);
      const queued = await waitingRequests(database, live);
      const offered = await computesOf([
        ...machines.flatMap(({ uuid }) => uuid ?? []),
        ...[...instances.values()].flatMap(({ node }) => node || []),
      ]);
      return machines.map(({ uuid, instance_uuid }) => {
        const instance = instances.get(lower(instance_uuid)) ?? null;
        const node = lower(instance?.node);
        return {
          instance,
          // The instance's node is another existing compute node.
          elsewhere: node !== lower(uuid) && offered.has(node),
          volumes: volumes.get(lower(instance_uuid)) ?? [],
          computes: offered.get(lower(uuid)) ?? [],
          queued: queued.get(lower(instance_uuid)) ?? [],
        };
      });
    },
    /** Including our own. */
    use: (hosts: readonly string[]) => useOf(database, hosts),
  };
}

/** Hypervisor types of drivers for machines. @source facts/nova-bm.md 5.1 */
const MACHINES: ReadonlySet<string> = new Set(["baremetal", "ironic"]);

async function readNovaTables(database: Database, identity: NovaIdentity): Promise<NovaTables> {
  const { host: owner, from: owned } = await computeHosts(database);
  const services = (await readServices(database)).filter(({ host }) => host !== "");
  // Later releases have aggregates in nova_api, and nova's rows are unused (N2I-D241).
  const members = hasMovedToApi(identity.schema_version)
    ? []
    : await read(
        database,
        { host: string, aggregate_id: number },
        "aggregate_hosts WHERE deleted = 0 ORDER BY aggregate_id",
      );
  const drivers = await hypervisorTypes(database);
  const machines = [...MACHINES].map((name) => `'${name}'`).join(", ");
  const guests = await read(
    database,
    { host: sql("i.host", string), count: sql("count(DISTINCT i.id)", number) },
    `${owned} JOIN instances i ON i.deleted = 0 AND i.host = ${owner} AND i.node = c.hypervisor_hostname WHERE c.deleted = 0 AND c.hypervisor_type NOT IN ('', ${machines}) GROUP BY i.host`,
  );
  const hosts = [...drivers];
  return {
    identity,
    services,
    aggregates: valuesBy(members, "host", "aggregate_id"),
    baremetal: hosts.flatMap(([host, types]) => (types.includes("baremetal") ? [host] : [])),
    foreign: new Map(
      hosts.flatMap(([host, types]) => {
        const others = types.filter((type) => !MACHINES.has(type));
        return others.length === 0 ? [] : [[host, others] as const];
      }),
    ),
    guests: new Map(guests.map(({ host, count }) => [host, count])),
  };
}
