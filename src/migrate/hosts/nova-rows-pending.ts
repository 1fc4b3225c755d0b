import { keyOf, type Ownership, ownershipOf } from "../../engine/ownership.ts";
import { batchesOf, type Entries, IRONIC, plansOf, type Span } from "../../model/journal.ts";
import { NOVA_NAMES, stepsOf } from "../../model/nova/nova-plan.ts";
import type { NovaState, TakenBack } from "../../run/files/run-files.ts";

type NovaPlan = NonNullable<NovaState["plan"]>;

/**
 * Whether apply completed every row of Nova. A batch that was rolled back counts if its machines
 * also left Ironic.
 * @param away machines that left Ironic
 */
export function isThrough(
  { sha256, counts }: NovaPlan,
  entries: Entries,
  away: TakenBack | null,
): boolean {
  const legs = NOVA_NAMES.map((name) => ownershipOf(entries, name, sha256));
  const reached = legs.map((leg) => {
    const done = leg.started.filter((span) => isDone(leg, span, away));
    return Math.max(0, ...done.map(({ to }) => to));
  });
  const rows = reached.reduce((sum, to) => sum + to, 0);
  return legs.every(({ open }) => open.length === 0) && rows >= stepsOf(counts);
}

/** @param away machines that were rolled back together with their Nova rows */
function isDone({ undone }: Ownership, span: Span, away: TakenBack | null): boolean {
  const machines = undone.get(keyOf(span));
  if (machines === undefined || away === "all") return true;
  return machines !== "all" && [...machines].every((machine) => away?.has(machine) === true);
}

/** Whether a load without `--leave-nova` stopped before the last of Nova's rows. */
export function skipsNova(plan: NovaPlan, entries: Entries, away: TakenBack | null): boolean {
  if (isThrough(plan, entries, away)) return false;
  const lastBatch = batchesOf(entries, IRONIC).findLast(
    (entry) => entry.do === "begin" && entry.plan === plan.sha256,
  );
  if (lastBatch?.do === "begin") return lastBatch.nova === "follows";
  return NOVA_NAMES.some((name) => plansOf(entries, name).includes(plan.sha256));
}
