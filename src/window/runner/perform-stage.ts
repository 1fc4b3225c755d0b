import { MigrationError } from "../../lib/error.ts";
import { counted, NAMES } from "../../lib/text.ts";
import type { TargetOptions } from "../../migrate/open/backend.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { createdAgain, isInIronic } from "../../migrate/plan/loaded-plans.ts";
import type { VerifyRequest } from "../../migrate/verify/verify.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import { available, type RunFiles, wasStaged } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { FOR_STAGES, type NextStep, nextCommand, pick } from "../../run/next.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { type RunStage, STAGES } from "../../run/stages.ts";
import { endOf, lineOf, optionsOf, PLAN } from "./pipeline.ts";
import {
  computeStarted,
  computesStopped,
  conductorAlive,
  takenOver,
  type Waiting,
} from "./wait-for-operator.ts";

export interface RunCommandOptions {
  readonly run: string;
  readonly until?: RunStage;
  /** While this file exists, no stage starts. */
  readonly pauseFile?: string;
  readonly hookTimeout: number;
  /** Seconds to wait for the operator. Default: no limit. */
  readonly wait?: number;
  readonly staged: boolean;
  readonly skipBlocked: boolean;
  /** Seconds, for check and apply. */
  readonly watch?: number;
  /** For a staged load. */
  readonly perMinute?: number;
  /** Connections to ignore, from any source. */
  readonly without?: readonly string[];
}

type OptionValues = { readonly [option: string]: unknown };

/** The commands as functions, each with the options of its own command line. */
export interface CommandFunctions {
  /** Every option of a command: these, connection files and defaults. */
  readonly options: (command: string, values: OptionValues) => Promise<object>;
  /** Runs a command and returns its exit status. */
  readonly perform: (command: string, options: object) => Promise<number>;
}

/** Saves decisions for later stages, also in the empty folder of an interrupted extract. */
export async function saveDecisions(options: RunCommandOptions): Promise<void> {
  const decisions = pick(options, Object.values(FOR_STAGES).flat());
  if (Object.keys(decisions).length === 0) return;
  await inRun(options.run, "run", { kind: "migration", create: true }, (run) =>
    saveOptions(run, "run", decisions),
  );
}

export function runAgain(options: RunCommandOptions): string {
  const { hookTimeout } = options;
  const names = ["until", "staged", "skip-blocked", "pause-file", "watch", "wait"];
  const choices = hookTimeout === 300 ? {} : { hookTimeout };
  return nextCommand("run", options, { ...pick(options, names), ...choices });
}

/**
 * Plans again if the options changed and the plan was not applied.
 * @param changed options of plan with another value now
 * @throws MigrationError N2I-E328 if a part of the plan was applied
 */
export function planAnew(
  step: NextStep | null,
  files: RunFiles,
  options: RunCommandOptions,
  changed: readonly string[],
): NextStep | null {
  // A rollback or extract comes first. A plan that is due anyway uses the new options.
  if (["extract", "rollback", "plan"].includes(step?.command ?? "")) return step;
  const isAnySet = Object.keys(pick(options, changed)).length > 0;
  const isFirst = step?.command === "apply" && step.options === undefined;
  const { journal, plan } = files;
  if (changed.length === 0 || !(isAnySet || isFirst) || "missing" in plan) return step;
  const names = changed.map((name) => (name === "site" ? "site document" : `--${name}`));
  const what = `made with a different ${names.join(", ")}`;
  const same = `use the same options as before: ${runAgain(options)}`;
  if ("missing" in journal || plansOf(journal.entries, IRONIC).includes(plan.sha256))
    throw gate(`the plan was ${what}, and was applied`, `Make a new plan, or ${same}`);
  if (changesNova(files))
    throw gate(
      `the plan was ${what}, and ${FLAVORS}`,
      `To continue, ${same}. ${takenBackFirst(files)}`,
    );
  return { ...PLAN, again: `it was ${what}` };
}

/**
 * Allows a new plan after old power readings, if nothing was applied.
 * @throws MigrationError N2I-E328 if Nova's rows are changed
 */
export function checkRenewable(files: RunFiles): void {
  if (!changesNova(files)) return;
  throw gate(
    `the plan's power readings are too old or from a different plan, and ${FLAVORS}`,
    `If no machine has been powered on or off since then, run apply with --power-max-age. ${takenBackFirst(files)}`,
  );
}

const FLAVORS = "some of the Nova rows that it changes have already been changed";

/** Whether Nova's rows of the plan are changed. Flavors come before Ironic's machines. */
function changesNova({ plan, journal }: RunFiles): boolean {
  if ("missing" in plan || "missing" in journal) return false;
  return NOVA_NAMES.some((name) => isInIronic(journal.entries, plan.sha256, name));
}

function takenBackFirst(files: RunFiles): string {
  const back: NextStep = { command: "rollback", options: { all: true } };
  return `Or roll back first: ${lineOf(back, files)}`;
}

/**
 * Checked first, because the operator should stop no service for a plan that must change.
 * @throws MigrationError N2I-E328 if a finished run loaded machines that the plan would load again
 */
export async function checkDeleted({ run, files }: FoundRun, step: NextStep): Promise<void> {
  const { entries = [] } = available(files.journal) ?? {};
  // Also checked for an interrupted second load, when the run is not finished.
  if (!entries.some((entry) => entry.do === "close")) return;
  const { first, count } = await createdAgain(run, entries, NAMES);
  if (count === 0) return;
  const more = count > first.length ? ` and ${count - first.length} more` : "";
  const byHand = { ...step, options: { ...step.options, afterFinish: true } } as const;
  throw gate(
    `this run loaded them, and they have since been deleted from Ironic: ${first.join(", ")}${more}. The plan would load them again`,
    `Exclude them with "skip" in the site document and run plan again. To load them again: ${lineOf(byHand, files)}`,
  );
}

/** Ends the run with a task for the operator. @param fix if the next command is another one */
export function gate(what: string, fix?: string): MigrationError {
  return new MigrationError("N2I-E328", what, fix === undefined ? {} : { fix });
}

export interface FoundRun {
  readonly run: RunFolder;
  readonly files: RunFiles;
}

/** The state of a run command. */
export interface RunProgress {
  /** Null: a new run, which starts with extract. */
  found: FoundRun | null;
  /** BMCs were queried again because of old readings, which happens only once. */
  renewed: boolean;
  /** Stages that this run repeated, with the reason. A second repetition ends the run. */
  readonly again: Set<string>;
  /** The open window was reported. */
  opened: boolean;
  /** The last applied plan. A second apply would skip the same machines. */
  applied: string | null;
  readonly options: RunCommandOptions;
  readonly commands: CommandFunctions;
  readonly sink: Sink;
}

/**
 * @returns the exit status of the stage's command. Null: nothing was done, and the run continues with
 * its current step
 */
export async function performed(
  of: RunProgress,
  stage: RunStage,
  step: NextStep,
): Promise<number | null> {
  const { options: runOptions, commands, sink, found } = of;
  const { skipBlocked, watch, run: path } = runOptions;
  if (found === null) {
    const options = await commands.options("extract", { run: path });
    // A signal may end the process during extract, so decisions are saved first.
    await saveDecisions(runOptions);
    return commands.perform("extract", options);
  }
  const { run, files } = found;
  const base: OptionValues = { run: path, ...optionsOf(step, files) };
  const polling: Waiting = { every: 5, sink, most: runOptions.wait };
  switch (stage) {
    case "check": {
      const options = await commands.options("check", { run: path, skipBlocked, watch });
      if (reachesStage("apply", runOptions))
        await computesStopped(run, options as { novaDb?: string }, polling);
      return commands.perform("check", options);
    }
    case "apply": {
      const staged = (runOptions.staged || wasEverStaged(files)) && { staged: true };
      const second = await secondNight(files, sink);
      const decided = { ...base, ...staged, ...second, skipBlocked, watch };
      const options = await commands.options("apply", decided);
      await computesStopped(run, options as { novaDb?: string }, polling);
      const first = step.options === undefined && !of.renewed;
      return commands.perform("apply", options).catch((cause: unknown) => {
        const isOld = cause instanceof MigrationError && cause.code === "N2I-E307";
        if (!first || !isOld) throw cause;
        return renewed(of, files);
      });
    }
    case "handover": {
      const options = await commands.options("handover", base);
      await conductorAlive(options as TargetOptions & { run: string }, polling);
      return commands.perform("handover", options);
    }
    case "takeover":
      // If machines were handed over, conductors are already running.
      if (files.handover === null)
        await sink.confirm(
          "Now start every ironic-conductor. The conductors take over the machines, and must be stopped before a rollback.",
        );
      await takenOver((await commands.options("verify", base)) as VerifyRequest, polling);
      return 0;
    case "final":
      await bootFilesStaged(files, sink);
      await sink.confirm(
        "Now correct nova.conf until `config --check` exits with status 0, restart nova-scheduler and start the new nova-compute. Once it creates or deletes a server, you cannot roll back.",
      );
      await computeStarted((await commands.options("verify", base)) as VerifyRequest, polling);
      return 0;
    case "extract":
    case "power":
    case "plan":
    case "verify":
    case "finish":
      return commands.perform(stage, await commands.options(stage, base));
  }
}

/** Whether the run does not stop before a stage. */
export function reachesStage(stage: RunStage, { until }: RunCommandOptions): boolean {
  return until === undefined || STAGES.indexOf(stage) <= STAGES.indexOf(until);
}

/** Confirms a second load, of machines that the finished run never loaded. */
async function secondNight(files: RunFiles, { confirm }: Sink): Promise<OptionValues> {
  const end = endOf(files);
  if (end === null) return {};
  const { nodes = 0 } = available(files.plan)?.counts ?? {};
  await confirm(
    `finish ended this run at ${end.at}. The current plan loads ${counted(nodes, "machine")} that this run never loaded. Were these machines skipped at that time, and have they not been deleted since?`,
  );
  return { "after-finish": true };
}

/** If an earlier plan was staged, conductors are running, so later ones must be staged. */
export function wasEverStaged({ journal }: RunFiles): boolean {
  const { entries = [] } = available(journal) ?? {};
  return plansOf(entries, IRONIC).some((plan) => wasStaged(entries, plan));
}

/** Asks for `boot`, because the next reboot fails if takeover leaves deploy mode. */
async function bootFilesStaged({ plan, boot }: RunFiles, { confirm }: Sink): Promise<void> {
  const release = available(plan)?.release;
  if (boot !== undefined) return;
  const target = (await loadMappings()).releases.find(({ doc }) => doc.release === release);
  if (target?.doc.boot === "deploy")
    await confirm(
      `Takeover by Ironic ${release} leaves tenants' boot files in deploy mode, and this run has not staged any. Run nova2ironic boot for each conductor's TFTP tree first, or a tenant's next reboot hangs. Are the boot files in place?`,
    );
}

async function renewed(of: RunProgress, files: RunFiles): Promise<number | null> {
  const { options, commands, sink } = of;
  checkRenewable(files);
  await sink.confirm("The power readings are too old. Read every BMC and make the plan again?");
  of.renewed = true;
  const { run } = options;
  const status = await commands.perform("power", await commands.options("power", { run }));
  if (status !== 0 && status !== 3) return status;
  return (await commands.perform("plan", await commands.options("plan", { run }))) || null;
}
