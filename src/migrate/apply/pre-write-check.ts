import { batches } from "../../engine/batches.ts";
import { ownershipOf, wasBegun } from "../../engine/ownership.ts";
import { MigrationError } from "../../lib/error.ts";
import { counted, NAMED } from "../../lib/text.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import type { Target } from "../../model/ironic/target.ts";
import { type Entries, IRONIC } from "../../model/journal.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { indexCurrent, judge, wantedOf } from "../plan/rules/plan-machine.ts";
import { batchOf } from "./ironic.ts";

/**
 * Before the first write, compares every row if the target's row counts changed since the plan. A
 * plan that was started changed them itself, and its batches are compared one by one.
 * @throws MigrationError N2I-E300 naming the conflicts, from the returned function
 */
export function inspectCloser(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  sha256: string,
  before: PlanHeader["target_before"],
  same: SameSecret,
  { target, entries }: { readonly target: Target; readonly entries: Entries },
): () => Promise<void> {
  const ownership = ownershipOf(entries, IRONIC, sha256);
  const begun = ownership.begun.some((span) => wasBegun(ownership, span));
  return async () => {
    if (begun) return;
    const { nodes, ports } = await target.counts();
    if (nodes === before.nodes && ports === before.ports) return;
    const inTheWay: string[] = [];
    for await (const { lines } of batches(plan(), batchOf(target.identity))) {
      const desired = lines
        .filter(({ verdict }) => verdict === "create")
        .flatMap(({ records }) => records.filter(({ change }) => change === "create"));
      const index = indexCurrent(await target.current(wantedOf([{ desired }])));
      for (const record of desired)
        for (const { place, message } of judge(record, index, same).findings)
          inTheWay.push(`${place}: ${message}`);
    }
    if (inTheWay.length > 0)
      throw new MigrationError(
        "N2I-E300",
        `${counted(inTheWay.length, "row now conflicts", "rows now conflict")} with the plan: ${inTheWay.slice(0, NAMED).join("; ")}`,
      );
  };
}
