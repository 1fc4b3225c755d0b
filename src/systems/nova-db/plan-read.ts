import { grouped } from "../../lib/grouped.ts";
import type { NovaIdentity } from "../../model/nova/nova-plan.ts";
import { hasMovedToApi } from "../../model/nova/nova-release.ts";
import type { ComputeRow, MachineRows, NovaTables } from "../../model/nova/nova-rows.ts";
import { indexByText } from "../database/by-text.ts";
import { deletedNumber } from "../database/deleted.ts";
import { type Database, readTransaction } from "../database/open.ts";
import { keyed, read, sql, valuesBy } from "../database/read.ts";
import { boolean, integer, lower, number, spellings, string, text } from "../database/rows.ts";
import { computeHosts, useOf } from "./hosts.ts";
import { openInstances } from "./instances.ts";
import { mustReadRequests, waitingRequests } from "./requests.ts";
import { computeServices } from "./services.ts";

/** Opens a snapshot of the rows that a change of hosts depends on. @source facts/nova-bm.md 5.1 */
export async function openHosts(nova: Database, identity: NovaIdentity) {
  const database = await readTransaction(nova);
  await mustReadRequests(database);
  const tables = await readNovaTables(database, identity);
  const instancesOf = openInstances(database);
  const computesOf = await openOffering(database);
  const mapped = await keyed(database, "block_device_mapping", "instance_uuid");
  return {
    ...{ tables, database, close: database.close },
    async rows(
      machines: readonly { readonly uuid: string | null; readonly instance_uuid: string | null }[],
    ): Promise<readonly MachineRows[]> {
      const uuids = machines.map(({ instance_uuid }) => instance_uuid);
      const instances = await instancesOf(uuids);
      const volumes = await read(
        database,
        { instance: sql("instance_uuid", lower), volume_id: string },
        `${mapped} WHERE deleted = 0 AND volume_id IS NOT NULL AND instance_uuid IN (...) ORDER BY id`,
        spellings(uuids),
      );
      const live = [...instances.values()].filter(({ deleted }) => deleted === 0);
      const queued = await waitingRequests(database, live);
      const attached = valuesBy(volumes, "instance", "volume_id");
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
          volumes: attached.get(lower(instance_uuid)) ?? [],
          computes: offered.get(lower(uuid)) ?? [],
          queued: queued.get(lower(instance_uuid)) ?? [],
        };
      });
    },
    /** Including our own. */
    use: (hosts: readonly string[]) => useOf(database, hosts),
  };
}

/** Live compute nodes by lower-case node. */
async function openOffering(database: Database) {
  const { byHost } = await computeHosts(database);
  const live = "deleted = 0 AND hypervisor_hostname IS NOT NULL";
  const placed = await indexByText(database, "compute_nodes", "hypervisor_hostname", live);
  const compute = {
    ...{ id: number, service_id: integer },
    ...(byHost && { host: text }),
    ...{ hypervisor_hostname: text, deleted: deletedNumber, deleted_at: text },
  };
  const from = `${await keyed(database, "compute_nodes", "id")} WHERE id IN (...) ORDER BY id`;
  return async (nodes: readonly string[]): Promise<ReadonlyMap<string, readonly ComputeRow[]>> => {
    const rows = await read(database, compute, from, placed.ids(nodes));
    const usable = rows.filter(({ hypervisor_hostname }) => hypervisor_hostname !== "");
    return grouped(usable, ({ hypervisor_hostname }) => lower(hypervisor_hostname));
  };
}

/** Hypervisor types of drivers for machines. @source facts/nova-bm.md 5.1 */
const MACHINES: ReadonlySet<string> = new Set(["baremetal", "ironic"]);

async function readNovaTables(database: Database, identity: NovaIdentity): Promise<NovaTables> {
  const { host: owner, from: owned } = await computeHosts(database);
  const services = await read(
    database,
    { id: number, host: string, disabled: boolean, disabled_reason: text },
    `${computeServices(database)} AND host IS NOT NULL ORDER BY id`,
  );
  // Later releases have aggregates in nova_api, and nova's rows are unused (N2I-D241).
  const members = hasMovedToApi(identity.schema_version)
    ? []
    : await read(
        database,
        { host: string, aggregate_id: number },
        "aggregate_hosts WHERE deleted = 0 ORDER BY aggregate_id",
      );
  const drivers = await read(
    database,
    { host: sql(owner, string), type: sql("c.hypervisor_type", string) },
    `${owned} WHERE c.deleted = 0 AND c.hypervisor_type <> '' AND ${owner} IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  const machines = [...MACHINES].map((name) => `'${name}'`).join(", ");
  const guests = await read(
    database,
    { host: sql("i.host", string), count: sql("count(DISTINCT i.id)", number) },
    `${owned} JOIN instances i ON i.deleted = 0 AND i.host = ${owner} AND i.node = c.hypervisor_hostname WHERE c.deleted = 0 AND c.hypervisor_type NOT IN ('', ${machines}) GROUP BY i.host`,
  );
  return {
    identity,
    services,
    aggregates: valuesBy(members, "host", "aggregate_id"),
    baremetal: drivers.flatMap(({ host, type }) => (type === "baremetal" ? [host] : [])),
    foreign: valuesBy(
      drivers.filter(({ type }) => !MACHINES.has(type)),
      "host",
      "type",
    ),
    guests: new Map(guests.map(({ host, count }) => [host, count])),
  };
}
