import type { AllocationsNow } from "../core/hosts/allocations.ts";
import type { MachineProvider, ProvidersOf } from "../core/hosts/computes.ts";
import type { Database } from "../edge/database/open.ts";
import { readComputeUuids, readPlacement } from "../edge/nova/later.ts";

/** Reads which instances have an allocation. */
export function openAllocated(placement: Database): AllocationsNow["allocatedOf"] {
  return async (instances) =>
    new Set((await readPlacement(placement, instances, [])).allocated.keys());
}

/** Reads what Placement calls as machines, beside the compute nodes that Nova has of them. */
export function openProviders(nova: Database, placement: Database): ProvidersOf {
  return async (machines) => {
    const { providers } = await readPlacement(placement, [], machines);
    const computes = (await readComputeUuids(nova, machines)) ?? new Map<string, string>();
    const found = new Map<string, MachineProvider>();
    for (const uuid of machines.map((machine) => machine.toLowerCase())) {
      const uuids = providers.filter(({ name }) => name === uuid).map((one) => one.uuid);
      found.set(uuid, { uuids, compute: computes.get(uuid) ?? null });
    }
    return found;
  };
}
