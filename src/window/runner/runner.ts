import { existsSync } from "node:fs";
import { duration } from "../../lib/text.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { available } from "../../run/files/run-files.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { checkKind, isRun } from "../../run/files/run-kind.ts";
import {
  closeWindow,
  isWindowOpen,
  openWindow,
  recordWindow,
  resultOf,
} from "../../run/files/window-file.ts";
import { runHook } from "../../run/hooks.ts";
import { camel, FOR_STAGES, type NextStep, pick } from "../../run/next.ts";
import { paused } from "../../run/pause.ts";
import { changedOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { type RunStage, STAGES, stageOf } from "../../run/stages.ts";
import { expectedIn } from "./next-step.ts";
import {
  type CommandFunctions,
  checkDeleted,
  type FoundRun,
  gate,
  performed,
  planAnew,
  type RunCommandOptions,
  type RunProgress,
  reachesStage,
  saveDecisions,
  wasEverStaged,
} from "./perform-stage.ts";
import { EXTRACT, isDecision, machinesNotInIronic, nextOf, stepOf } from "./pipeline.ts";
import { filesOf } from "./run-state.ts";

export interface RunEnd {
  readonly ended: "done" | "until" | "stopped" | "gate";
  readonly at: RunStage | null;
  /** Exit status of the last stage. Null: that of the signal. */
  readonly status: number | null;
}

/** Exit statuses that continue: plan blocks failed machines, and apply reports blocked ones. */
const CONTINUES: { readonly [stage in RunStage]?: readonly number[] } = {
  power: [0, 3],
  // Other power readings may unblock machines. apply refuses a plan that loads none.
  plan: [0, 6],
  check: [0, 1],
};

/**
 * Runs the remaining stages in order, each like its own command. The next stage depends only on the
 * run's files, so the same command resumes after any interruption.
 * @throws MigrationError of a refused stage; N2I-E328 at a gate, N2I-E329
 */
export async function runStages(
  options: RunCommandOptions,
  commands: CommandFunctions,
  sink: Sink,
): Promise<RunEnd> {
  const of: RunProgress = {
    ...{ options, commands, sink, found: null, renewed: false, opened: false, applied: null },
    again: new Set(),
  };
  let [before, saved] = ["", false];
  for (;;) {
    const found = await foundAt(options.run);
    of.found = found;
    const step = found === null ? EXTRACT : await plannedStep(of, found);
    // Refused options are not saved.
    if (!saved && found !== null) await saveDecisions(options);
    saved = found !== null;
    if (step === null) {
      if (found !== null && (await closeWindow(found.run))) sink.report("The window is closed.");
      for (const line of found === null ? [] : machinesNotInIronic(found.files)) sink.report(line);
      return { ended: "done", at: null, status: 0 };
    }
    const { snapshot, plan, journal, verified, hasReadings } = found?.files ?? {};
    const entries = available(journal)?.entries.length;
    const position = JSON.stringify([step, snapshot, plan, entries, verified, hasReadings]);
    if (position === before)
      throw gate(`${stageOf(step) ?? step.command} succeeded, but must be repeated`);
    before = position;
    const ended = await continueRun(of, step);
    if (ended !== null) return ended;
  }
}

/** The run in a folder. Null for a new run, which starts with extract. */
async function foundAt(path: string): Promise<FoundRun | null> {
  if (!existsSync(path)) return null;
  const run = await openRun(path, { create: false });
  // A folder that contains only hooks becomes a run by extract.
  if (await isRun(run)) await checkKind(run, { kind: "migration" }, "run");
  const { files } = await filesOf(run, { run: path });
  return { run, files };
}

/** @returns null to continue */
async function continueRun(of: RunProgress, step: NextStep): Promise<RunEnd | null> {
  const { found, sink } = of;
  const stage = stageOf(step);
  if (stage === null || isDecision(step))
    throw gate(`the next step is your decision: ${found === null ? "" : nextOf(found.files)}`);
  if (step.again !== undefined) {
    const again = `${stage}: ${step.again}`;
    if (of.again.has(again)) throw gate(`${again}; it was already repeated once`);
    of.again.add(again);
  }
  const plan = available(found?.files.plan)?.sha256 ?? null;
  if (stage === "apply" && plan !== null && of.applied === plan)
    throw gate(
      "apply ended without some machines of the plan, which it named. Fix the causes, or exclude the machines from a new plan",
    );
  const first = stage === "apply" && step.options === undefined;
  const overRest = found?.files.rest === true;
  if (first && overRest)
    sink.report(
      "Over REST, check is skipped because it reads Ironic's database. apply has its own checks.",
    );
  const stages: readonly RunStage[] = first && !overRest ? ["check", "apply"] : [stage];
  for (const each of stages) {
    if (!reachesStage(each, of.options)) return { ended: "until", at: each, status: 0 };
    if (stage === "apply" && each === stages[0] && found !== null) await checkDeleted(found, step);
    const ended = await runStage(of, each, step);
    if (ended !== null) return ended;
  }
  return null;
}

async function runStage(of: RunProgress, stage: RunStage, step: NextStep): Promise<RunEnd | null> {
  const { options, sink, found } = of;
  const { run = null, files } = found ?? {};
  await paused(options.pauseFile, sink);
  // A run that stops before apply stops no service and opens no window.
  const writes = reachesStage("apply", options);
  if (run !== null && writes && STAGES.indexOf(stage) >= STAGES.indexOf("check"))
    await inWindow(of, run);
  const staged =
    options.staged || (files !== undefined && (files.handover !== null || wasEverStaged(files)));
  const overRest = ["check", "handover", "takeover"];
  const skipped = files?.rest === true ? overRest : staged ? [] : ["handover"];
  const stages = STAGES.filter((one) => !skipped.includes(one));
  /** Null if it is unknown or depends on the operator. */
  const seconds =
    found === null || "missing" in found.files.journal
      ? null
      : (await expectedIn(found, stage, options.watch)).seconds;
  sink.stage(stages, stages.indexOf(stage), seconds === null ? null : duration(seconds));
  if (run === null) sink.report(`${options.run} has no run yet. It begins with ${stage}.`);
  if (step.again !== undefined) sink.report(`${stage} is repeated: ${step.again}.`);
  const stopped: RunEnd = { ended: "stopped", at: stage, status: null };
  if (run !== null && !(await runHook(run, "before", stage, options.hookTimeout, sink)))
    return stopped;
  const status = await recorded(run, stage, () => performed(of, stage, step));
  // If old readings prevented apply, the next step is determined again.
  if (status === null) return null;
  if (stage === "apply") of.applied = available(files?.plan)?.sha256 ?? null;
  if ([130, 143].includes(status)) return { ...stopped, status };
  const fine = CONTINUES[stage] ?? (stage === "apply" && options.skipBlocked ? [0, 3] : [0]);
  if (!fine.includes(status)) return { ended: "gate", at: stage, status };
  const now = run ?? (await openRun(options.run, { create: false }));
  return (await runHook(now, "after", stage, options.hookTimeout, sink)) ? null : stopped;
}

/** @throws MigrationError N2I-E328 if another command closed this run's window */
async function inWindow(of: RunProgress, run: RunFolder): Promise<void> {
  if (!(await isWindowOpen(run))) {
    if (of.opened)
      throw gate("another command closed the window. Run the same command again to open a new one");
    // Without a terminal, the run is refused before it opens the window.
    of.sink.askable();
  }
  const { at: since, by } = await openWindow(run);
  if (!of.opened) of.sink.report(`Window: open since ${since} by ${by}.`);
  of.opened = true;
}

/** Records stages that do not write. Other stages record themselves. */
async function recorded(
  run: RunFolder | null,
  stage: RunStage,
  work: () => Promise<number | null>,
): Promise<number | null> {
  if (run === null || ["apply", "handover", "finish"].includes(stage)) return work();
  recordWindow(run, { do: "begin", stage });
  try {
    const status = await work();
    recordWindow(run, { do: "end", stage, result: status === 0 ? "done" : `exit ${status}` });
    return status;
  } catch (cause) {
    recordWindow(run, { do: "end", stage, result: resultOf(cause) });
    throw cause;
  }
}

/** The next step, or plan if the options of the plan changed. @throws MigrationError N2I-E328 */
async function plannedStep(
  { options: runOptions, commands }: RunProgress,
  { run, files }: FoundRun,
): Promise<NextStep | null> {
  const step = stepOf(files);
  // The plan's options are not needed before that stage.
  if (!reachesStage("plan", runOptions) || "missing" in files.plan) return step;
  const set = pick(runOptions, FOR_STAGES.plan);
  const values = { run: runOptions.run, ...set };
  const options: { readonly site?: string } = await commands.options("plan", values);
  const skipped = [runOptions.without ?? []].flat();
  // A missing file is no decision. Only the command line can remove an option.
  const isSet = (name: string): boolean => skipped.includes(name) || camel(name) in set;
  const changed = await changedOptions(run, options, isSet);
  const { site = null } = files.plan;
  const isOther =
    options.site === undefined
      ? site !== null && skipped.includes("site")
      : (await (await loadMappings()).site(options.site)).sha256 !== site;
  return planAnew(step, files, runOptions, isOther ? [...changed, "site"] : changed);
}
