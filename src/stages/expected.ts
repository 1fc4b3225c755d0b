import type { Measured, WindowStep } from "../core/report/facts.ts";
import { stepOf } from "../core/report/window.ts";
import { ownershipOf } from "../engine/ownership.ts";
import { IRONIC } from "../model/journal.ts";
import { LOOKS, type RunStage } from "./journey.ts";
import type { RunFiles } from "./run-files.ts";

/** How long the next stage takes, as a report would say it: for what it has still to do. */
export function expected(files: RunFiles, stage: RunStage, measured: Measured): WindowStep {
  const { handover } = files;
  const machines =
    handover === null || "missing" in handover ? 0 : handover.staged - handover.released;
  const asked = { machines, rows: rowsLeft(files), perMinute: null, measured };
  return stepOf(LOOKS[stage] ?? stage, asked);
}

/** Rows of the plan that are not in Ironic by our hand, nor were there before. */
function rowsLeft({ journal, plan }: RunFiles): number {
  if ("missing" in journal || "missing" in plan) return 0;
  const { rows, preExisting } = ownershipOf(journal.entries, IRONIC, plan.sha256);
  const there = [...rows.values()].reduce((sum, more) => sum + more, preExisting.size);
  return Math.max(0, plan.counts.nodes + plan.counts.ports - there);
}
