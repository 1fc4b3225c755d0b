import { MigrationError } from "../../lib/error.ts";
import { NAMES } from "../../lib/text.ts";
import { createdAgain, isInIronic } from "../../migrate/plan/loaded-plans.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import type { RunFiles } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { FOR_STAGES, type NextStep, nextCommand, pick } from "../../run/next.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { RunStage } from "../../run/stages.ts";
import { lineOf, PLAN } from "./pipeline.ts";

export interface RunCommandOptions {
  readonly run: string;
  readonly until?: RunStage;
  /** While this file exists, no stage starts. */
  readonly pauseFile?: string;
  /** Seconds for a hook. */
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

export type OptionValues = { readonly [option: string]: unknown };

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
  const choices = hookTimeout === HOOK_TIMEOUT ? {} : { hookTimeout };
  return nextCommand("run", options, { ...pick(options, RUN_OPTIONS), ...choices });
}

const RUN_OPTIONS: readonly string[] = [
  ...["until", "staged", "skip-blocked", "pause-file", "watch", "wait"],
];

const HOOK_TIMEOUT = 300;

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
export function checkRenewable(files: RunFiles | null): void {
  if (files === null || !changesNova(files)) return;
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
export async function checkDeleted(
  run: RunFolder,
  step: NextStep,
  files: RunFiles | null,
): Promise<void> {
  if (files === null) return;
  const { journal } = files;
  const entries = "missing" in journal ? [] : journal.entries;
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
