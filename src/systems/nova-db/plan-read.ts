import type { NovaIdentity } from "../../model/nova/nova-plan.ts";
import { hasMovedToApi } from "../../model/nova/nova-release.ts";
import type { MachineRows, NovaTables } from "../../model/nova/nova-rows.ts";
import { type Database, readTransaction } from "../database/open.ts";
import { read, sql, valuesBy } from "../database/read.ts";
import { lower, number, string } from "../database/rows.ts";
import { openComputeRows } from "./by-node.ts";
import { computeHosts, useOf } from "./hosts.ts";
import { attachedVolumes, openInstances } from "./instances.ts";
import { hypervisorTypes } from "./machines.ts";
import { mustReadRequests, waitingRequests } from "./requests.ts";
import { readServices } from "./services.ts";

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
