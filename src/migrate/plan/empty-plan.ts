import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { PlanCounts } from "../../model/artefact.ts";

/** Planned machines, already in Ironic or not. */
export function loadable({ verdicts }: PlanCounts): number {
  return verdicts.create + verdicts.unchanged + verdicts.drift;
}

export function nothingText({ machines, verdicts }: PlanCounts): string {
  const { blocked, conflict, skipped } = verdicts;
  return `the plan loads none of its ${counted(machines, "machine")}: ${blocked} blocked, ${conflict} in conflict, ${skipped} skipped`;
}

/** The failure of a plan that loads no machine. Any other check would pass. */
export function nothingLoads(
  counts: PlanCounts,
  code: "N2I-E325" | "N2I-E326" = "N2I-E326",
): MigrationError {
  return new MigrationError(code, nothingText(counts));
}

/** Whether apply refuses the plan without `--skip-blocked`. */
export function isBlockedPlan({ verdicts }: PlanCounts): boolean {
  return verdicts.blocked + verdicts.conflict > 0;
}

/** Whether `power` must run first, because conductors will use other settings. */
export function requiresPower({ power_outdated = 0 }: PlanCounts): boolean {
  return power_outdated > 0;
}

export function blockedText({ verdicts }: PlanCounts): string {
  return `${counted(verdicts.blocked, "machine is", "machines are")} blocked and ${verdicts.conflict} in conflict`;
}
