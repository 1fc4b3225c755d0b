import { ledgerOf, plansOf, wasBegun } from "../../core/apply/ledger.ts";
import type { RunPlan } from "../../core/release/run-nodes.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { JournalEntry } from "../../model/artefact.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { openPlan } from "./run.ts";

type Opened = Awaited<ReturnType<typeof openPlan>>;

/** Plans of which, by the journal, something is in Ironic still, newest first. */
export function plansThere(entries: readonly JournalEntry[]): readonly string[] {
  return plansOf(entries).filter((sha256) => {
    const ledger = ledgerOf(entries, sha256);
    return ledger.begun.some((stretch) => wasBegun(ledger, stretch));
  });
}

/**
 * The present plan, and the others whose machines may be in Ironic, newest first.
 *
 * @throws MigrationError N2I-E110 when one of them is lost
 */
export async function plansOfRun(
  run: RunFolder,
  present: Opened,
  entries: readonly JournalEntry[],
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
