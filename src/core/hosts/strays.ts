import type { ComputePlace } from "../../model/nova-rows.ts";
import type { PlannedMachine } from "../../model/plan.ts";

/** Live compute nodes of the ironic driver by the uuid of their node, lower case. */
export type PlacesOf = (
  uuids: readonly string[],
) => Promise<ReadonlyMap<string, readonly ComputePlace[]>>;

/** A compute node that Nova made since, and the machine it is of. */
export interface Stray extends ComputePlace {
  readonly bm_node_id: number;
}

/**
 * Compute nodes that a nova-compute with the ironic driver made of machines on another host than
 * theirs. Once the old ones are back each such machine is offered twice, and nobody else takes the
 * new ones away. One that the driver wrote over on the machine's own host is the old one.
 *
 * @param known ids of compute nodes that were there when hosts were planned
 * @source facts/nova-bm.md 5.2, 5.3
 */
export async function* strayComputes(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  placesOf: PlacesOf,
  known: ReadonlySet<number>,
): AsyncGenerator<Stray> {
  for await (const batch of machines) {
    const found = await placesOf(batch.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])));
    for (const { uuid, bm_node_id, service_host } of batch)
      for (const place of found.get(uuid?.toLowerCase() ?? "") ?? [])
        if (!known.has(place.id) && place.host !== service_host) yield { ...place, bm_node_id };
  }
}
