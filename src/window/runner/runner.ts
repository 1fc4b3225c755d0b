import { existsSync } from "node:fs";
import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { TargetOptions } from "../../migrate/open/backend.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import type { VerifyRequest } from "../../migrate/verify/verify.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import { available, type RunFiles, wasStaged } from "../../run/files/run-files.ts";
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
import type { NextStep } from "../../run/next.ts";
import { paused } from "../../run/pause.ts";
import type { Sink } from "../../run/sink.ts";
import { type RunStage, STAGES, stageOf } from "../../run/stages.ts";
import {
  type CommandFunctions,
  checkDeleted,
  checkRenewable,
  gate,
  type OptionValues,
  plannedStep,
  type RunCommandOptions,
  saveDecisions,
} from "./command-lines.ts";
import { takes } from "./expected.ts";
import {
  EXTRACT,
  endOf,
  isDecision,
  machinesNotInIronic,
  nextOf,
  optionsOf,
  stepOf,
} from "./pipeline.ts";
import { filesOf } from "./run-state.ts";
import {
  computeStarted,
  computesStopped,
  conductorAlive,
  takenOver,
  type Waiting,
} from "./wait-for-operator.ts";

export interface RunEnd {
  readonly ended: "done" | "until" | "stopped" | "gate";
  readonly at: RunStage | null;
  /** Exit status of the last stage. Null: that of the signal. */
  readonly status: number | null;
}

interface RunProgress {
  /** BMCs were queried again because of old readings, which happens only once. */
  renewed: boolean;
  /** Stages that this run repeated, with the reason. A second repetition ends the run. */
  readonly again: Set<string>;
  /** The open window was reported. */
  opened: boolean;
  /** The last applied plan. A second apply would skip the same machines. */
  applied: string | null;
  readonly words: RunCommandOptions;
  readonly hands: CommandFunctions;
  readonly sink: Sink;
}

/** Exit statuses that continue: plan blocks failed machines, and apply reports blocked ones. */
const GOES_ON: { readonly [stage in RunStage]?: readonly number[] } = {
  power: [0, 3],
  // Other power readings may unblock machines. apply refuses a plan that loads none.
  plan: [0, 6],
  check: [0, 1],
};

const INTERRUPTED = [130, 143];

/**
 * Runs the remaining stages in order, each like its own command. The next stage depends only on the
 * run's files, so the same command resumes after any interruption.
 * @throws MigrationError of a refused stage; N2I-E328 at a gate, N2I-E329
 */
export async function walk(
  words: RunCommandOptions,
  hands: CommandFunctions,
  sink: Sink,
): Promise<RunEnd> {
  const of: RunProgress = {
    ...{ words, hands, sink, renewed: false, opened: false, applied: null, again: new Set() },
  };
  let before = "";
  let saved = false;
  for (;;) {
    const { run, files, ...at } = await standing(words.run);
    // The plan's options are not needed before that stage.
    const step =
      run === null || isBeyond("plan", words.until)
        ? at.step
        : await plannedStep(run, files, at.step, words, hands);
    // Refused options are not saved.
    if (!saved && run !== null) await saveDecisions(words);
    saved = run !== null;
    if (step === null) {
      if (run !== null && (await closeWindow(run))) sink.say("The window is closed.");
      for (const line of files === null ? [] : machinesNotInIronic(files)) sink.say(line);
      return { ended: "done", at: null, status: 0 };
    }
    const place = positionKey(step, files);
    if (place === before)
      throw gate(`${stageOf(step) ?? step.command} ended well and is still to be done`);
    before = place;
    const ended = await continueRun(of, run, step, files);
    if (ended !== null) return ended;
  }
}

/** The current step of a run. A new run starts with extract. */
async function standing(path: string) {
  if (!existsSync(path)) return { run: null, step: EXTRACT, files: null };
  const run = await openRun(path, { create: false });
  // A folder that contains only hooks becomes a run by extract.
  if (await isRun(run)) await checkKind(run, { kind: "migration" }, "run");
  const { files } = await filesOf(run, { run: path });
  return { run, step: stepOf(files), files };
}

function positionKey(step: NextStep, files: RunFiles | null): string {
  if (files === null) return JSON.stringify([step]);
  const { snapshot, plan, journal, verified, asked } = files;
  const entries = "missing" in journal ? journal.missing : journal.entries.length;
  const one = (of: typeof snapshot | typeof plan): string =>
    "missing" in of ? of.missing : of.sha256;
  return JSON.stringify([step, one(snapshot), one(plan), entries, verified, asked]);
}

/** @returns null to continue */
async function continueRun(
  of: RunProgress,
  run: RunFolder | null,
  step: NextStep,
  files: RunFiles | null,
): Promise<RunEnd | null> {
  const stage = stageOf(step);
  if (stage === null || isDecision(step)) {
    const next = files === null ? "" : nextOf(files);
    throw gate(`next is for you to decide: ${next}`);
  }
  if (step.again !== undefined) {
    const again = `${stage}: ${step.again}`;
    if (of.again.has(again)) throw gate(`${again}; it was already repeated once`);
    of.again.add(again);
  }
  const plan = available(files?.plan)?.sha256 ?? null;
  if (stage === "apply" && plan !== null && of.applied === plan)
    throw gate(
      "apply ended and left machines of the plan; it named them. Fix their cause, or leave them out of a new plan",
    );
  const first = stage === "apply" && step.options === undefined;
  const stages = first ? checkedFirst(of, files) : [stage];
  for (const each of stages) {
    if (isBeyond(each, of.words.until)) return { ended: "until", at: each, status: 0 };
    if (stage === "apply" && each === stages[0] && run !== null)
      await checkDeleted(run, step, files);
    const ended = await runStage(of, run, each, { step, files });
    if (ended !== null) return ended;
  }
  return null;
}

/** check needs Ironic's database. */
function checkedFirst({ sink }: RunProgress, files: RunFiles | null): readonly RunStage[] {
  if (files?.rest !== true) return ["check", "apply"];
  sink.say(
    "Over REST there is no check, because it reads Ironic's database. apply makes its own checks.",
  );
  return ["apply"];
}

function isBeyond(stage: RunStage, until: RunStage | undefined): boolean {
  return until !== undefined && STAGES.indexOf(stage) > STAGES.indexOf(until);
}

interface At {
  readonly step: NextStep;
  readonly files: RunFiles | null;
}

async function runStage(
  of: RunProgress,
  run: RunFolder | null,
  stage: RunStage,
  at: At,
): Promise<RunEnd | null> {
  const { words, sink } = of;
  await paused(words.pauseFile, sink);
  // A run that stops before apply stops no service and opens no window.
  const writes = !isBeyond("apply", words.until);
  if (run !== null && writes && STAGES.indexOf(stage) >= STAGES.indexOf("check"))
    await inWindow(of, run);
  const stages = stagesOf(words, at.files);
  sink.stage(stages, stages.indexOf(stage), await takes(run, stage, at.files, words.watch));
  if (run === null) sink.say(`There is no run in ${words.run} yet: it begins with ${stage}.`);
  if (at.step.again !== undefined) sink.say(`${stage} is done again: ${at.step.again}.`);
  const stopped: RunEnd = { ended: "stopped", at: stage, status: null };
  if (run !== null && !(await runHook(run, "before", stage, words.hookTimeout, sink)))
    return stopped;
  const status = await recorded(run, stage, () => performed(of, run, stage, at));
  // If old readings prevented apply, the next step is determined again.
  if (status === AGAIN) return null;
  if (stage === "apply") of.applied = available(at.files?.plan)?.sha256 ?? null;
  if (INTERRUPTED.includes(status)) return { ...stopped, status };
  const fine = GOES_ON[stage] ?? (stage === "apply" && words.skipBlocked ? [0, 3] : [0]);
  if (!fine.includes(status)) return { ended: "gate", at: stage, status };
  const now = run ?? (await openRun(words.run, { create: false }));
  return (await runHook(now, "after", stage, words.hookTimeout, sink)) ? null : stopped;
}

/** The stages of this run. */
function stagesOf(words: RunCommandOptions, files: RunFiles | null): readonly RunStage[] {
  const staged = words.staged || files?.handover != null || wasEverStaged(files);
  const loaded = staged ? [] : ["handover"];
  const left = files?.rest === true ? ["check", "handover", "takeover"] : loaded;
  return STAGES.filter((stage) => !left.includes(stage));
}

/** @throws MigrationError N2I-E328 if another command closed this run's window */
async function inWindow(of: RunProgress, run: RunFolder): Promise<void> {
  if (!(await isWindowOpen(run))) {
    if (of.opened)
      throw gate("the window was closed by another command; the same command opens another");
    // Without a terminal, the run is refused before it opens the window.
    of.sink.askable();
  }
  const { at: since, by } = await openWindow(run);
  if (!of.opened) of.sink.say(`Window: open since ${since} by ${by}.`);
  of.opened = true;
}

/** Records stages that do not write. The others record themselves. */
async function recorded(
  run: RunFolder | null,
  stage: RunStage,
  work: () => Promise<number>,
): Promise<number> {
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

/** @returns the exit status of the stage's command */
async function performed(
  of: RunProgress,
  run: RunFolder | null,
  stage: RunStage,
  at: At,
): Promise<number> {
  const { words, hands, sink } = of;
  const { step, files } = at;
  const given: OptionValues = { run: words.run, ...(files !== null && optionsOf(step, files)) };
  const { skipBlocked, watch } = words;
  const patience: Waiting = { every: EVERY, sink, most: words.wait };
  switch (stage) {
    case "check": {
      const options = await hands.options("check", { run: words.run, skipBlocked, watch });
      if (run !== null && !isBeyond("apply", words.until))
        await computesStopped(run, options as { novaDb?: string }, patience);
      return hands.perform("check", options);
    }
    case "apply": {
      const staged = (words.staged || wasEverStaged(files)) && { staged: true };
      const second = await secondNight(files, sink);
      const decided = { ...given, ...staged, ...second, skipBlocked, watch };
      const options = await hands.options("apply", decided);
      if (run !== null) await computesStopped(run, options as { novaDb?: string }, patience);
      const first = step.options === undefined && !of.renewed;
      return hands.perform("apply", options).catch((cause: unknown) => {
        const isOld = cause instanceof MigrationError && cause.code === "N2I-E307";
        if (!first || !isOld) throw cause;
        return renewed(of, files);
      });
    }
    case "handover": {
      const options = await hands.options("handover", given);
      await conductorAlive(options as TargetOptions & { run: string }, patience);
      return hands.perform("handover", options);
    }
    case "takeover":
      // If machines were handed over, conductors are already running.
      if (files === null || files.handover === null)
        await sink.confirm(
          "Now start every ironic-conductor: they take the machines over, and a way back has to stop them first.",
        );
      await takenOver((await hands.options("verify", given)) as VerifyRequest, patience);
      return 0;
    case "final":
      await bootFilesStaged(files, sink);
      await sink.confirm(
        "Now set nova.conf until `config --check` ends with 0, restart nova-scheduler and start the new nova-compute. Once it creates or deletes a server, you cannot roll back.",
      );
      await computeStarted((await hands.options("verify", given)) as VerifyRequest, patience);
      return 0;
    case "extract": {
      const options = await hands.options(stage, given);
      // A signal may end the process during extract, so decisions are saved first.
      if (run === null) await saveDecisions(words);
      return hands.perform(stage, options);
    }
    case "power":
    case "plan":
    case "verify":
    case "finish":
      return hands.perform(stage, await hands.options(stage, given));
  }
}

/** Confirms a second load, of machines that the finished run never loaded. */
async function secondNight(files: RunFiles | null, { confirm }: Sink): Promise<OptionValues> {
  const end = files && endOf(files);
  if (end === null) return {};
  const { nodes = 0 } = available(files?.plan)?.counts ?? {};
  await confirm(
    `finish ended this run at ${end.at}. The plan made since loads ${counted(nodes, "machine")} that this run never loaded: were they left behind then, and not deleted since?`,
  );
  return { "after-finish": true };
}

/** If an earlier plan was staged, conductors are running, so later ones must be staged. */
function wasEverStaged(files: RunFiles | null): boolean {
  const { entries = [] } = available(files?.journal) ?? {};
  return plansOf(entries, IRONIC).some((plan) => wasStaged(entries, plan));
}

/** Asks for `boot`, because the next reboot fails if take-over leaves deploy mode. */
async function bootFilesStaged(files: RunFiles | null, { confirm }: Sink): Promise<void> {
  const release = available(files?.plan)?.release;
  if (files?.boot !== undefined) return;
  const target = (await loadMappings()).releases.find(({ doc }) => doc.release === release);
  if (target?.doc.boot === "deploy")
    await confirm(
      `Take-over by Ironic ${release} leaves tenants' boot files in deploy mode, and this run staged none: run nova2ironic boot for each conductor's TFTP tree first, or a tenant's next reboot hangs. Are they in place?`,
    );
}

/** A pseudo exit status: nothing was done, and the run continues with the current step. */
const AGAIN = -1;

/** After confirmation, replaces old readings and the plan. */
async function renewed(of: RunProgress, files: RunFiles | null): Promise<number> {
  const { words, hands, sink } = of;
  checkRenewable(files);
  await sink.confirm("The power readings are too old: ask every BMC and make the plan again?");
  of.renewed = true;
  const { run } = words;
  const asked = await hands.perform("power", await hands.options("power", { run }));
  if (asked !== 0 && asked !== 3) return asked;
  return (await hands.perform("plan", await hands.options("plan", { run }))) || AGAIN;
}

/** Seconds between two checks of the operator's work. */
const EVERY = 5;
