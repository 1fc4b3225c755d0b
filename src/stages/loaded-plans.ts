import { findPlan } from "../edge/disk/plan-folder.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { ownershipOf, wasBegun } from "../engine/ownership.ts";
import { type Entry, IRONIC, plansOf } from "../model/journal.ts";
import type { PlannedMachine } from "../model/plan.ts";
import type { RunPlan } from "../parts/finish.ts";
import { openPlan } from "./run.ts";

type Opened = Awaited<ReturnType<typeof openPlan>>;

/** Plans of which, by the journal, something is in Ironic still, newest first. */
export function plansThere(entries: readonly Entry[]): readonly string[] {
  return plansOf(entries, IRONIC).filter((sha256) => isThere(entries, sha256));
}

/** Whether something a plan loaded is in Ironic still, by the journal. */
export function isThere(entries: readonly Entry[], sha256: string): boolean {
  const ownership = ownershipOf(entries, IRONIC, sha256);
  return ownership.begun.some((span) => wasBegun(ownership, span));
}

/**
 * The present plan, and the others whose machines may be in Ironic, newest first.
 *
 * @throws MigrationError N2I-E110 when one of them is lost
 */
export async function plansOfRun(
  run: RunFolder,
  present: Opened,
  entries: readonly Entry[],
): Promise<readonly RunPlan[]> {
  const plans = [runPlan(present)];
  for (const sha256 of plansThere(entries))
    if (sha256 !== present.footer.sha256)
      plans.push(runPlan(await openPlan(await findPlan(run, sha256))));
  return plans;
}

/** Every machine of every plan. */
export async function* linesOf(
  plans: readonly RunPlan[],
): AsyncGenerator<readonly PlannedMachine[]> {
  for (const { lines } of plans) yield* lines();
}

function runPlan({ header, footer, lines }: Opened): RunPlan {
  return { sha256: footer.sha256, origins: header.origins, lines: () => lines() };
}
