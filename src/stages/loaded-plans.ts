import { findPlan } from "../edge/disk/plan-folder.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { hasEnded, ownershipOf, wasBegun } from "../engine/ownership.ts";
import { type Entry, IRONIC, plansOf } from "../model/journal.ts";
import { isLoaded, type PlannedMachine } from "../model/plan.ts";
import type { RunPlan } from "../parts/finish.ts";
import { openPlan, PLAN } from "./run.ts";

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

/**
 * Machines that the present plan creates, and that an earlier one had loaded to their end and no rollback
 * took back: somebody deleted them since.
 *
 * @throws MigrationError N2I-E110 when a plan is lost
 */
export async function createdAgain(
  run: RunFolder,
  entries: readonly Entry[],
): Promise<readonly string[]> {
  const present = await openPlan(`${run.path}/${PLAN}`);
  const created = new Set<string>();
  for await (const batch of present.lines())
    for (const { verdict, uuid } of batch)
      if (verdict === "create" && uuid !== null) created.add(uuid);
  const again = new Set<string>();
  for (const sha256 of plansThere(entries)) {
    if (sha256 === present.footer.sha256) continue;
    const ownership = ownershipOf(entries, IRONIC, sha256);
    let at = -1;
    for await (const batch of (await openPlan(await findPlan(run, sha256))).lines())
      for (const line of batch) {
        at += 1;
        const { uuid } = line;
        if (uuid === null || !created.has(uuid) || !isLoaded(line)) continue;
        const ended = ownership.begun.some(
          (span) => span.from <= at && at < span.to && hasEnded(ownership, span, uuid),
        );
        if (ended) again.add(uuid);
      }
  }
  return [...again];
}

function runPlan({ header, footer, lines }: Opened): RunPlan {
  return { sha256: footer.sha256, origins: header.origins, lines: () => lines() };
}
