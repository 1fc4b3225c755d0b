import type { JournalEntry } from "../../model/artefact.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { stepsOf } from "../../model/plan.ts";
import type { Target } from "../../model/target.ts";
import { batchOf, stretches } from "./apply.ts";
import { isOurs, ledgerOf } from "./ledger.ts";

/** A plan the journal speaks of. */
export interface JournalledPlan {
  readonly sha256: string;
  readonly lines: () => AsyncIterable<readonly PlannedMachine[]>;
}

/**
 * How many nodes the target holds that this run did not load, by its journal.
 *
 * @param ours told the uuids of those that it did and that are there, lower case
 * @source facts/systems.md D R25, D-19
 */
export async function countOthers(
  target: Pick<Target, "identity" | "counts" | "current">,
  entries: readonly JournalEntry[],
  plans: readonly JournalledPlan[],
  ours: (uuids: readonly string[]) => void,
): Promise<number> {
  const { nodes } = await target.counts();
  if (nodes === 0) return 0;
  // A node that was lost and loaded again stands in several plans, and is one.
  const own = new Set<string>();
  for (const { sha256, lines } of plans) {
    const ledger = ledgerOf(entries, sha256);
    for await (const { from, to, machines } of stretches(lines(), batchOf(target.identity))) {
      const uuids = machines.flatMap((machine) =>
        stepsOf(machine)
          .filter(({ resource }) => resource === "node")
          .filter(({ id }) => isOurs(ledger, { from, to }, machine.uuid ?? "", id))
          .map(({ after }) => String(after?.uuid)),
      );
      if (uuids.length === 0) continue;
      const found = await target.current({ ...NOTHING, uuids });
      const there = found.nodes.map(({ uuid }) => String(uuid).toLowerCase());
      for (const uuid of there) own.add(uuid);
      ours(there);
    }
  }
  return Math.max(0, nodes - own.size);
}

const NOTHING = { uuids: [], instance_uuids: [], names: [], port_uuids: [], addresses: [] };
