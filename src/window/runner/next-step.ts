import { ownershipOf } from "../../engine/ownership.ts";
import { duration, shellArgument } from "../../lib/text.ts";
import { USUAL_PACE } from "../../model/handover.ts";
import { WATCH_SECONDS } from "../../model/ironic/service.ts";
import { IRONIC } from "../../model/journal.ts";
import { available, type RunFiles } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { isWindowClosed } from "../../run/files/window-file.ts";
import { type NextStep, nextCommand } from "../../run/next.ts";
import { COMMANDS, type RunStage, stageOf, UNDONE_BY } from "../../run/stages.ts";
import { paceOfRun } from "../handover/conductor-pace.ts";
import { measuredOf } from "../report/history.ts";
import { type Measured, stepOf } from "../report/rules/window.ts";
import type { FoundRun } from "./perform-stage.ts";
import { isDecision, lineOf, machinesNotInIronic, nextStepOf } from "./pipeline.ts";
import { filesOf } from "./run-state.ts";

interface Advice {
  readonly next: string;
  readonly reason: string;
  readonly takes: string;
  readonly undo: string;
}

const NOTHING = "nothing, because it does not write to any database";
const DONE: Advice = {
  ...{ next: "nothing", reason: "this run is done", takes: "0 s" },
  undo: "rollback --after-finish, as long as the machines have not changed since they were loaded",
};

export async function advice(run: RunFolder): Promise<Advice> {
  const { path } = run;
  const { files } = await filesOf(run, { run: path });
  const step = nextStepOf(files);
  const closed = await isWindowClosed(run);
  if (step === null) {
    const reason = [DONE.reason, ...machinesNotInIronic(files)].join("\n");
    return within(closed, path, { ...DONE, reason });
  }
  const { after: _after, note = "", ...bare } = step;
  const next = lineOf(bare, files);
  const stage = stageOf(step);
  if (stage === null) {
    const undo =
      step.command === "show" ? NOTHING : "plan and apply, which load the machines again";
    return { next, reason: note, takes: "not known", undo };
  }
  const { seconds, source } = await expectedIn({ run, files }, stage);
  const takes =
    seconds === null
      ? "not known, because this run has not done it yet"
      : `${duration(seconds)} (${source})`;
  const undone = UNDONE_BY[stage];
  const reason = stageNote(step, stage);
  if (undone === null) return { next, reason, takes, undo: NOTHING };
  const options = undone === "rollback" ? { all: true } : { undo: true };
  return within(closed, path, {
    next,
    reason,
    takes,
    undo: nextCommand(undone, { run: path }, options),
  });
}

/** The next step of another kind of run. @param changed rows that a rollback would restore */
export async function adviceOf(
  run: RunFolder,
  state: { readonly next: string; readonly reason: string; readonly changed: number },
): Promise<Advice> {
  const { next, reason, changed } = state;
  const undo = changed === 0 ? NOTHING : nextCommand("rollback", { run: run.path }, { all: true });
  return within(await isWindowClosed(run), run.path, { next, reason, takes: "not known", undo });
}

/** The reason for a stage, and the operator's tasks before it. */
const REASONS: { readonly [stage in RunStage]: string } = {
  extract: "It reads the deployment, and does not write to any database.",
  power: "It reads each BMC as a conductor will. The plan blocks machines without a power reading.",
  plan: "Only the plan is loaded, so you can review it first. It does not write to any database.",
  check: "It shows whether the window can begin.",
  apply:
    "It loads the plan, which is the first write. Stop every nova-compute of nova-baremetal first, and run check.",
  verify: "It compares Ironic, and Nova if the plan includes it, with the plan, row by row.",
  handover: "Machines are staged. Start every ironic-conductor, then hand the machines over.",
  takeover: "Start every ironic-conductor. It checks whether each machine is taken over.",
  final:
    "Apply the patch of config to nova.conf, restart nova-scheduler and start the new nova-compute. It verifies that Nova has each machine.",
  finish: "It ends the window, so tenants can delete and rebuild their servers again.",
};
const RESUMES =
  "It resumes the interrupted load. Rows that are already loaded are not changed. Keep every nova-compute of nova-baremetal stopped.";

export function stageNote(step: NextStep, stage: RunStage): string {
  const { note, again } = step;
  if (again !== undefined) return `${again}: ${stage} is repeated.`;
  const reason = stage === "apply" && step.options !== undefined ? RESUMES : REASONS[stage];
  return note !== undefined && isDecision(step) ? `${note}. ${reason}` : reason;
}

/** Undo writes, so a closed window must be opened first. */
function within(closed: boolean, run: string, { undo, ...advice }: Advice): Advice {
  const open = `nova2ironic window open --run ${shellArgument(run)}`;
  return { ...advice, undo: closed ? `${open}, then ${undo}` : undo };
}

/** Estimates the remaining duration of a stage. @param watch seconds of apply's watch */
export function expected(
  files: RunFiles,
  stage: RunStage,
  measured: Measured,
  watch = WATCH_SECONDS,
  rate: Awaited<ReturnType<typeof paceOfRun>> = { pace: USUAL_PACE, perMinute: null },
) {
  const { staged = 0, released = 0, takeOvers = 0 } = available(files.handover) ?? {};
  const facts = {
    ...{ machines: staged - released, takeOvers, rows: remainingRows(files), measured, ...rate },
  };
  const step = stepOf(COMMANDS[stage] ?? stage, facts);
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

export async function expectedIn({ run, files }: FoundRun, stage: RunStage, watch?: number) {
  const { entries = [] } = available(files.journal) ?? {};
  const measured = await measuredOf(run.path, entries);
  return expected(files, stage, measured, watch, await paceOfRun(run.path));
}

/** Rows of the plan that neither this run created nor Ironic had before. */
function remainingRows({ journal, plan }: RunFiles): number {
  if ("missing" in journal || "missing" in plan) return 0;
  const { rows, preExisting } = ownershipOf(journal.entries, IRONIC, plan.sha256);
  const existing = [...rows.values()].reduce((sum, more) => sum + more, preExisting.size);
  return Math.max(0, plan.counts.nodes + plan.counts.ports - existing);
}
