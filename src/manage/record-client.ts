import { MigrationError } from "../lib/error.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import type { NetworkPorts, RecordClient, RunningNode } from "../model/ironic/manage.ts";
import { failpoint } from "../run/failpoint.ts";
import { createAllocations, readAllocation } from "../systems/ironic-api/allocation.ts";
import { inFlight } from "../systems/ironic-api/pool.ts";
import { readCompared, readRunning, readSeveral } from "../systems/ironic-api/running.ts";
import { checkMinor } from "../systems/ironic-api/service.ts";
import type { NetworkService } from "../systems/openstack/neutron-ports.ts";
import { MARK } from "./rules/criteria.ts";

/** @throws MigrationError N2I-E209 if Ironic cannot create allocations of nodes in use */
export function allocationClient({ service, network }: ManageClients): RecordClient {
  checkMinor(service, "allocation");
  const neutron = networkOf({ network });
  const recordClient: RecordClient = {
    ...createAllocations(service, MARK, failpoint),
    async read(id, server, portIds) {
      const [node, record] = [
        await readRunning(service, id),
        server === null ? null : await readAllocation(service, server),
      ];
      return { node, record, ports: await portsOf({ network }, node, portIds) };
    },
    async readAll(all, most, nics) {
      if (nics === null)
        return inFlight(all, most, ([id, server]) => recordClient.read(id, server, []));
      const uuids = all.map(([id]) => id);
      const nodes = await readSeveral(service, uuids, most, nics);
      return inFlight([...all.entries()], most, async ([at, [id, server]]) => {
        const node = nodes[at] ?? null;
        // Nodes with VIFs are read again together with their ports.
        const isComplete = server === null && node?.nics.every(({ vif }) => vif === null) === true;
        return isComplete
          ? { node, record: null, ports: new Map() }
          : recordClient.read(id, server, []);
      });
    },
    compared: (nodes, most) => readCompared(service, nodes, most),
    async again({ node, ports }, id, server) {
      const now = await readRunning(service, id, node?.nics ?? []);
      return { node: now, record: await readAllocation(service, server), ports };
    },
    async bind(port, from, to) {
      await failpoint("rest.before");
      const reason = await (await neutron()).bind(port, from, to);
      await failpoint("rest.after");
      return reason;
    },
  };
  return recordClient;
}

/**
 * Neutron's ports of a node. Without Neutron, only a port that this run has bound is an error.
 *
 * @param more ports of the request
 */
export async function portsOf(
  { network }: Pick<ManageClients, "network">,
  node: RunningNode | null,
  bound: readonly string[],
  more: readonly string[] = [],
): Promise<NetworkPorts | null> {
  const vifs = (node?.nics ?? []).flatMap(({ vif }) => vif ?? []);
  const ids = new Set([...vifs, ...bound, ...more]);
  if (ids.size === 0) return new Map();
  const neutron = bound.length > 0 ? await networkOf({ network })() : await network();
  return (await neutron?.ports(ids)) ?? null;
}

/** Neutron, if it is required. @throws MigrationError N2I-E106 */
export function networkOf({
  network,
}: Pick<ManageClients, "network">): () => Promise<NetworkService> {
  return async () => {
    const found = await network();
    if (found !== null) return found;
    throw new MigrationError(
      "N2I-E106",
      "no Neutron endpoint is known, but Neutron ports are specified",
      { fix: "Use --os-cloud, or set OS_NETWORK_ENDPOINT_OVERRIDE." },
    );
  };
}
