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
 * A look at every row of the plan before the first is written, for a target that holds more or
 * fewer rows than it did when the plan was made. Without it a row in the last batch's way would be
 * met when the others are loaded. A plan that was begun before has changed the counts itself; its
 * batches are compared one by one.
 *
 * @throws MigrationError N2I-E300 naming what stands in the way, from the function that it gives
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
        `${counted(inTheWay.length, "row stands", "rows stand")} in the plan's way by now: ${inTheWay.slice(0, NAMED).join("; ")}`,
      );
  };
}
