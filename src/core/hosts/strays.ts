import type { ComputePlace } from "../../model/nova-rows.ts";
import { isLoaded, type PlannedMachine } from "../../model/plan.ts";
import { show } from "../../model/text.ts";
import type { Choice } from "./choice.ts";
import type { ByMachine, ComputeFault } from "./computes.ts";

/** Live compute nodes of the drivers for machines. */
type PlacesOf = ByMachine<ComputePlace>;

/** A compute node that Nova made since, and the machine it is of. */
export interface Stray extends ComputePlace {
  readonly bm_node_id: number;
}

/** Compute nodes that were there when hosts were planned. */
export interface KnownComputes {
  readonly ids: ReadonlySet<number>;
  /** Machines that had some, by uuid. */
  readonly machines: ReadonlySet<string>;
}

/**
 * Compute nodes that a nova-compute made since. Once the old ones are back each such machine is
 * offered twice, and nobody else takes the new ones away. The new nova-compute makes them on another
 * host than the machine's; the old one, started once more, on its own where its row was moved away.
 * One that a driver wrote over on the machine's own host is the old one.
 *
 * @source facts/nova-bm.md 5.2, 5.3
 */
export async function* strayComputes(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  placesOf: PlacesOf,
  known: KnownComputes,
): AsyncGenerator<Stray> {
  for await (const batch of machines) {
    const found = await placesOf(batch.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])));
    for (const { uuid, bm_node_id, service_host } of batch) {
      const had = known.machines.has(uuid ?? "");
      for (const place of found.get(uuid?.toLowerCase() ?? "") ?? []) {
        const elsewhere = place.hypervisor_type === "ironic" && place.host !== service_host;
        if (!known.ids.has(place.id) && (had || elsewhere)) yield { ...place, bm_node_id };
      }
    }
  }
}

/**
 * Compute nodes that offer a machine on another host than the one the plan moves it to: the scheduler
 * gives it away there, as no instance is on that host.
 *
 * @source facts/nova-bm.md 5.2
 */
export async function* auditPlaces(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  placesOf: PlacesOf,
  choice: Choice,
): AsyncGenerator<ComputeFault> {
  for await (const batch of machines) {
    const found = await placesOf(batch.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])));
    for (const line of batch) {
      if (!isLoaded(line)) continue;
      const { uuid } = line;
      const to = choice.of(line);
      for (const { id, host } of found.get(uuid?.toLowerCase() ?? "") ?? [])
        if (to !== null && host !== null && host !== to)
          yield {
            machine: uuid,
            fault: `compute_nodes.id=${id} is on host ${show(host)}, should be on ${show(to)}`,
          };
    }
  }
}
