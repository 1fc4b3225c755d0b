import { ownershipOf } from "../../engine/ownership.ts";
import { USUAL_PACE } from "../../model/handover.ts";
import { WATCH_SECONDS } from "../../model/ironic/service.ts";
import { IRONIC } from "../../model/journal.ts";
import { available, type RunFiles } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { type RunStage, VERIFY_STAGES } from "../../run/stages.ts";
import { paceOfRun, perMinuteOf } from "../handover/conductor-pace.ts";
import { measuredOf } from "../report/history.ts";
import type { Measured, WindowStep } from "../report/rules/facts.ts";
import { stepOf } from "../report/rules/window.ts";

/** Estimates the remaining duration of a stage. @param watch seconds of apply's watch */
export function expected(
  files: RunFiles,
  stage: RunStage,
  measured: Measured,
  watch = WATCH_SECONDS,
  pace = USUAL_PACE,
): WindowStep {
  const { staged = 0, released = 0, takeOvers = 0 } = available(files.handover) ?? {};
  const facts = {
    ...{ machines: staged - released, takeOvers, rows: remainingRows(files) },
    ...{ perMinute: perMinuteOf(files.run ?? ""), pace, measured },
  };
  const step = stepOf(VERIFY_STAGES[stage] ?? stage, facts);
  // The plan names hosts whose nova-compute must be stopped.
  const { stopped = [] } = available(files.nova)?.plan?.counts ?? {};
  return stage === "apply" && step.seconds !== null && stopped.length > 0
    ? {
        ...step,
        seconds: step.seconds + watch,
        source: `${step.source}, including ${watch} s for watching nova-compute`,
      }
    : step;
}

export async function expectedIn(
  { path }: RunFolder,
  files: RunFiles,
  stage: RunStage,
  watch?: number,
): Promise<WindowStep> {
  const { entries = [] } = available(files.journal) ?? {};
  const [measured, pace] = [await measuredOf(path, entries), await paceOfRun(path)];
  return expected(files, stage, measured, watch, pace);
}

/** Rows of the plan that neither this run created nor Ironic had before. */
function remainingRows({ journal, plan }: RunFiles): number {
  if ("missing" in journal || "missing" in plan) return 0;
  const { rows, preExisting } = ownershipOf(journal.entries, IRONIC, plan.sha256);
  const existing = [...rows.values()].reduce((sum, more) => sum + more, preExisting.size);
  return Math.max(0, plan.counts.nodes + plan.counts.ports - existing);
}
