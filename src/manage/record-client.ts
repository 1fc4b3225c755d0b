import { MigrationError } from "../lib/error.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import type {
  ExistingNics,
  NetworkPorts,
  PortDevice,
  RunningNode,
  ServerView,
} from "../model/ironic/manage.ts";
import { failpoint } from "../run/failpoint.ts";
import { createAllocations, readAllocation } from "../systems/ironic-api/allocation.ts";
import { inFlight } from "../systems/ironic-api/pool.ts";
import { readCompared, readRunning, readSeveral } from "../systems/ironic-api/running.ts";
import { checkMinor } from "../systems/ironic-api/service.ts";
import { MARK } from "./rules/criteria.ts";

export type RecordClient = ReturnType<typeof allocationClient>;

/**
 * Client for server records. Each call requires the expected state, and is executed once even if
 * its answer is lost. A call that writes resolves to null, or to the reason of a refusal. A missing
 * answer is thrown.
 *
 * @throws MigrationError N2I-E209 if Ironic cannot create allocations of nodes in use
 */
export function allocationClient({ service, network }: ManageClients) {
  checkMinor(service, "allocation");
  /** @param server of its record. Null if none can exist yet */
  const read = async (
    id: string,
    server: string | null,
    ports: readonly string[],
  ): Promise<ServerView> => {
    const node = await readRunning(service, id);
    const record = server === null ? null : await readAllocation(service, server);
    return { node, record, ports: await portsOf({ network }, node, ports) };
  };
  return {
    ...createAllocations(service, MARK, failpoint),
    read,
    /** @param nics of all nodes. Null for a single machine */
    async readAll(
      all: readonly (readonly [node: string, server: string | null])[],
      most: number,
      nics: ExistingNics["of"] | null,
    ): Promise<readonly ServerView[]> {
      if (nics === null) return inFlight(all, most, ([id, server]) => read(id, server, []));
      const uuids = all.map(([id]) => id);
      const nodes = await readSeveral(service, uuids, most, nics);
      return inFlight([...all.entries()], most, async ([at, [id, server]]) => {
        const node = nodes[at] ?? null;
        // Nodes with VIFs are read again together with their ports.
        const isComplete = server === null && node?.nics.every(({ vif }) => vif === null) === true;
        return isComplete ? { node, record: null, ports: new Map() } : read(id, server, []);
      });
    },
    /** Current values of the compared fields. Null for a missing node. */
    compared: (nodes: readonly string[], most: number) => readCompared(service, nodes, most),
    /** Reads node and record again. NICs and ports are reused. */
    async again({ node, ports }: ServerView, id: string, server: string): Promise<ServerView> {
      const now = await readRunning(service, id, node?.nics ?? []);
      return { node: now, record: await readAllocation(service, server), ports };
    },
    async bind(port: string, from: readonly PortDevice[], to: PortDevice) {
      await failpoint("rest.before");
      const reason = await (await requiredNetwork({ network })).bind(port, from, to);
      await failpoint("rest.after");
      return reason;
    },
  };
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
  const neutron = bound.length > 0 ? await requiredNetwork({ network }) : await network();
  return (await neutron?.ports(ids)) ?? null;
}

/** Neutron, if it is required. @throws MigrationError N2I-E106 */
export async function requiredNetwork({ network }: Pick<ManageClients, "network">) {
  const found = await network();
  if (found !== null) return found;
  const text = "no Neutron endpoint is known, but Neutron ports are specified";
  throw new MigrationError("N2I-E106", text, {
    fix: "Use --os-cloud, or set OS_NETWORK_ENDPOINT_OVERRIDE.",
  });
}
