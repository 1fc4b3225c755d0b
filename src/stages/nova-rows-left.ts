import { ownershipOf } from "../engine/ownership.ts";
import { type Entries, IRONIC, plansOf, targetOf } from "../model/journal.ts";
import { NOVA_NAMES } from "../parts/nova.ts";
import type { NovaState } from "./run-files.ts";

type NovaPlan = NonNullable<NovaState["plan"]>;

/** Whether apply went through every row of Nova; batches go in the order of their file. */
export function isThrough({ sha256, counts }: NovaPlan, entries: Entries): boolean {
  const legs = NOVA_NAMES.map((name) => ownershipOf(entries, name, sha256));
  const reached = legs.map(({ begun }) => Math.max(0, ...begun.map(({ to }) => to)));
  const rows = reached.reduce((sum, to) => sum + to, 0);
  return (
    legs.every(({ open }) => open.length === 0) &&
    rows >= counts.hosts + counts.flavors + (counts.api ?? 0)
  );
}

/**
 * Whether a load was stopped behind Ironic's rows and before the last of Nova's. One that was to leave Nova
 * (`--leave-nova`) never opened it: of the first plan of a run the journal says so, of a later one where a row of
 * Nova was begun.
 */
export function leavesNova(plan: NovaPlan, entries: Entries): boolean {
  if (isThrough(plan, entries)) return false;
  const isBegun = NOVA_NAMES.some((name) => plansOf(entries, name).includes(plan.sha256));
  const isOpened = targetOf(entries, "nova") !== undefined;
  return isBegun || (isOpened && plansOf(entries, IRONIC).length === 1);
}
