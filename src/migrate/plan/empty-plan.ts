import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { PlanCounts } from "../../model/artefact.ts";

/** Machines a plan wants in Ironic, whether they are there or not. */
export function loadable({ verdicts }: PlanCounts): number {
  return verdicts.create + verdicts.unchanged + verdicts.drift;
}

export function nothingText({ machines, verdicts }: PlanCounts): string {
  const { blocked, conflict, skipped } = verdicts;
  return `the plan loads none of its ${counted(machines, "machine")}: ${blocked} blocked, ${conflict} in conflict, ${skipped} skipped`;
}

/** A plan of no machine that loads: whatever is asked of it, nothing is found wrong. */
export function nothingLoads(
  counts: PlanCounts,
  code: "N2I-E325" | "N2I-E326" = "N2I-E326",
): MigrationError {
  return new MigrationError(code, nothingText(counts));
}

/** Whether apply refuses a plan unless it is told to leave machines out. */
export function isHeldUp({ verdicts }: PlanCounts): boolean {
  return verdicts.blocked + verdicts.conflict > 0;
}

/** Whether `power` must run before the next plan, because conductors will use other settings than the readings. */
export function wantsPower({ power_outdated = 0 }: PlanCounts): boolean {
  return power_outdated > 0;
}

export function heldUpText({ verdicts }: PlanCounts): string {
  return `${counted(verdicts.blocked, "machine is", "machines are")} blocked and ${verdicts.conflict} in conflict`;
}

/** @throws MigrationError N2I-E304 when machines are blocked and not left out, N2I-E325 when no other is there */
export function checkBlocked(counts: PlanCounts, skip: boolean): number {
  const { verdicts } = counts;
  const blocked = verdicts.blocked + verdicts.conflict;
  // Leaving them out would leave nothing, so nobody is sent there.
  if (loadable(counts) === 0) throw nothingLoads(counts, "N2I-E325");
  if (blocked > 0 && !skip) throw new MigrationError("N2I-E304", heldUpText(counts));
  return blocked;
}
