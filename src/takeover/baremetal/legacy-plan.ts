import { MigrationError } from "../../lib/error.ts";
import { listed, NAMED } from "../../lib/text.ts";
import type { LegacyNode } from "../../model/nova/legacy-move.ts";
import type { Database } from "../../systems/database/open.ts";
import { legacyTenants, legacyTies, networkHosts } from "../../systems/nova-db/legacy.ts";
import { readLeases } from "../leases/leases.ts";
import { nodesNamed, nodesOf } from "../leases/nodes.ts";
import { createLegacyMoves, type LegacyFound } from "../rules/legacy.ts";
import type { MoveScope, MoveTarget } from "../target.ts";
import type { Boots } from "./legacy-boots.ts";

interface Sources extends Pick<MoveTarget, "database" | "machines"> {
  readonly leases: Database;
  readonly boots: Pick<Boots, "findings" | "shared">;
}

export function legacyPlanner(sources: Sources): MoveTarget["planner"] {
  const { database, leases, boots } = sources;
  return async (nova, request, acceptances) => {
    const hosts = nova.hosts.map(({ host }) => host);
    const networks = await networkHosts(database, hosts);
    const world = { ...nova, networks, leases: await readLeases(leases) };
    const moves = createLegacyMoves(world, request, acceptances);
    const found = await opened(sources);
    return {
      async *machines(scope) {
        for await (const nodes of chosen(leases, scope))
          yield (await found(nodes)).map(moves.machine);
      },
      async hosts(from) {
        const { left, findings } = moves.hosts(from);
        // The lease is the fence.
        return { left, findings: [...findings, ...(await boots.shared())], fence: [] };
      },
    };
  };
}

/** The selected machines in pages. @throws MigrationError N2I-E306 */
async function* chosen(
  leases: Database,
  { from, node = [] }: MoveScope,
): AsyncGenerator<readonly LegacyNode[]> {
  if (from !== undefined) {
    yield* nodesOf(leases, from);
    return;
  }
  const nodes = await nodesNamed(leases, node);
  const known = new Set(nodes.map(({ uuid }) => uuid.toLowerCase()));
  const unknown = node.filter((uuid) => !known.has(uuid.toLowerCase()));
  if (unknown.length > 0)
    throw new MigrationError("N2I-E306", `nova_bm has no live machine ${listed(unknown, NAMED)}`, {
      fix: "List the machines with: nova2ironic host list",
    });
  yield nodes;
}

async function opened({
  database,
  boots: files,
  machines: open,
}: Sources): Promise<(nodes: readonly LegacyNode[]) => Promise<readonly LegacyFound[]>> {
  const machines = await open();
  return async (nodes) => {
    const uuids = nodes.flatMap(({ instance_uuid }) => instance_uuid ?? []);
    const tenants = await legacyTenants(database, uuids);
    const boots = await files.findings(
      nodes.flatMap(({ id, uuid, instance_uuid: instance, service_host }) => {
        if (instance === null) return [];
        const from = service_host ?? "";
        const host = tenants.get(instance.toLowerCase())?.host ?? from;
        return [{ id, uuid, instance, hosts: [from, host] }];
      }),
    );
    const ties = await legacyTies(database, uuids);
    const owned = await machines.of(nodes.map(({ uuid }) => uuid));
    return nodes.flatMap((node, at) => {
      const own = owned[at];
      if (own === undefined) return [];
      const key = node.instance_uuid?.toLowerCase() ?? "";
      return [
        {
          ...{ node, tenant: tenants.get(key) ?? null, owned: own },
          volumes: ties.volumes.get(key) ?? [],
          architecture: ties.architectures.get(key) ?? null,
          boot: boots.get(node.id) ?? [],
        },
      ];
    });
  };
}
