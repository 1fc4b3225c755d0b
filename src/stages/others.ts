import { ownedLines } from "../engine/back.ts";
import type { Entry } from "../model/journal.ts";
import type { Target } from "../model/target.ts";
import { ironicJournalled, type MachinePlan } from "../parts/ironic.ts";

const ALL = { wants: () => true };

/**
 * How many nodes the target holds that this run did not load, by its journal.
 *
 * @param ours told the uuids of those that it did and that are there, lower case
 * @source facts/systems.md D R25, D-19
 */
export async function countOthers(
  target: Pick<Target, "identity" | "counts" | "current">,
  entries: readonly Entry[],
  plans: readonly MachinePlan[],
  ours: (uuids: readonly string[]) => void,
): Promise<number> {
  const { nodes } = await target.counts();
  if (nodes === 0) return 0;
  // A node that was lost and loaded again stands in several plans, and is one.
  const own = new Set<string>();
  for (const plan of plans)
    for await (const batch of ownedLines(ironicJournalled(target.identity, plan), entries, ALL)) {
      const uuids = batch.flatMap(({ changes }) =>
        changes
          .filter(({ resource }) => resource === "node")
          .map(({ after }) => String(after?.uuid)),
      );
      if (uuids.length === 0) continue;
      const found = await target.current({ ...NOTHING, uuids });
      const there = found.nodes.map(({ uuid }) => String(uuid).toLowerCase());
      for (const uuid of there) own.add(uuid);
      ours(there);
    }
  return Math.max(0, nodes - own.size);
}

const NOTHING = { uuids: [], instance_uuids: [], names: [], port_uuids: [], addresses: [] };
