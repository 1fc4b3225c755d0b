import { hasEnded, ownershipOf, wasStarted } from "../../engine/ownership.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { isLoaded, type PlannedMachine } from "../../model/plan.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan, PLAN } from "../../run/run.ts";

/** Plans with rows in Ironic, according to the journal, newest first. */
export function plansInIronic(entries: Entries): readonly string[] {
  return plansOf(entries, IRONIC).filter((sha256) => isInIronic(entries, sha256));
}

/** Whether Ironic, or another part, still has rows of a plan, according to the journal. */
export function isInIronic(entries: Entries, sha256: string, part = IRONIC): boolean {
  const ownership = ownershipOf(entries, part, sha256);
  return ownership.started.some((span) => wasStarted(ownership, span));
}

export type RunPlan = Awaited<ReturnType<typeof plansOfRun>>[number];

/** The current plan and others with machines in Ironic, newest first. @throws N2I-E110 */
export async function plansOfRun(
  run: RunFolder,
  present: Awaited<ReturnType<typeof openPlan>>,
  entries: Entries,
) {
  const plans = [present];
  for (const sha256 of plansInIronic(entries))
    if (sha256 !== present.footer.sha256) plans.push(await openPlan(await findPlan(run, sha256)));
  return plans.map(({ header: { origins }, footer: { sha256 }, lines }) => {
    return { sha256, origins, lines };
  });
}

export async function* linesOf(
  plans: readonly RunPlan[],
): AsyncGenerator<readonly PlannedMachine[]> {
  for (const { lines } of plans) yield* lines();
}

/**
 * Machines that the current plan creates although an earlier one loaded them, so they were deleted
 * since.
 * @param most maximum number of UUIDs
 * @throws MigrationError N2I-E110 if a plan is missing
 */
export async function createdAgain(
  run: RunFolder,
  entries: Entries,
  most: number,
): Promise<{ readonly first: readonly string[]; readonly count: number }> {
  const present = await openPlan(`${run.path}/${PLAN}`);
  const keyOf = ({ bm_node_id, uuid }: PlannedMachine): string => `${bm_node_id} ${uuid}`;
  const loaded = new Set<string>();
  for (const sha256 of plansInIronic(entries))
    if (sha256 !== present.footer.sha256)
      for await (const line of endedIn(run, entries, sha256)) loaded.add(keyOf(line));
  const first: string[] = [];
  let count = 0;
  for await (const batch of present.lines())
    for (const line of batch) {
      if (line.verdict !== "create" || line.uuid === null || !loaded.has(keyOf(line))) continue;
      count += 1;
      if (first.length < most) first.push(line.uuid);
    }
  return { first, count };
}

async function* endedIn(
  run: RunFolder,
  entries: Entries,
  sha256: string,
): AsyncGenerator<PlannedMachine> {
  const ownership = ownershipOf(entries, IRONIC, sha256);
  const { lines } = await openPlan(await findPlan(run, sha256));
  let to = 0;
  for await (const batch of lines()) {
    const from = to;
    to += batch.length;
    const near = ownership.started.filter((span) => span.from < to && from < span.to);
    for (const [at, line] of batch.entries()) {
      if (line.uuid === null || !isLoaded(line)) continue;
      const { uuid } = line;
      const isEnded = near.some(
        (span) => span.from <= from + at && from + at < span.to && hasEnded(ownership, span, uuid),
      );
      if (isEnded) yield line;
    }
  }
}
