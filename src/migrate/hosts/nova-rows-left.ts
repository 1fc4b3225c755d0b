import { keyOf, type Ownership, ownershipOf } from "../../engine/ownership.ts";
import { batchesOf, type Entries, IRONIC, plansOf, type Span } from "../../model/journal.ts";
import { NOVA_NAMES, stepsOf } from "../../model/nova/nova-plan.ts";
import type { NovaState, TakenBack } from "../../run/files/run-files.ts";

type NovaPlan = NonNullable<NovaState["plan"]>;

/**
 * Whether apply went through every row of Nova; batches go in the order of their file. One that a rollback took back
 * is to be gone through again, but where its machines left Ironic since the last load.
 *
 * @param away those that did
 */
export function isThrough(
  { sha256, counts }: NovaPlan,
  entries: Entries,
  away: TakenBack | null,
): boolean {
  const legs = NOVA_NAMES.map((name) => ownershipOf(entries, name, sha256));
  const reached = legs.map((leg) => {
    const done = leg.begun.filter((span) => isDone(leg, span, away));
    return Math.max(0, ...done.map(({ to }) => to));
  });
  const rows = reached.reduce((sum, to) => sum + to, 0);
  return legs.every(({ open }) => open.length === 0) && rows >= stepsOf(counts);
}

/** @param away machines that were taken back, and their rows of Nova with them */
function isDone({ undone }: Ownership, span: Span, away: TakenBack | null): boolean {
  const machines = undone.get(keyOf(span));
  if (machines === undefined || away === "all") return true;
  return machines !== "all" && [...machines].every((machine) => away?.has(machine) === true);
}

/**
 * Whether a load was stopped before the last of Nova's rows. A load with `--leave-nova` leaves none.
 *
 * @param away machines that left Ironic since
 */
export function leavesNova(plan: NovaPlan, entries: Entries, away: TakenBack | null): boolean {
  if (isThrough(plan, entries, away)) return false;
  const begun = batchesOf(entries, IRONIC).findLast(
    (entry) => entry.do === "begin" && entry.plan === plan.sha256,
  );
  if (begun?.do === "begin") return begun.nova === "follows";
  return NOVA_NAMES.some((name) => plansOf(entries, name).includes(plan.sha256));
}
