import { MigrationError } from "../../lib/error.ts";
import { NAMED } from "../../lib/text.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { createdAgain, isThere } from "../../migrate/plan/loaded-plans.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import type { RunFiles } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { camel, FOR_STAGES, type NextStep, nextCommand, pick } from "../../run/next.ts";
import { inRun } from "../../run/run.ts";
import { changedOptions, saveOptions } from "../../run/saved-options.ts";
import type { RunStage } from "../../run/stages.ts";
import { lineOf, PLAN } from "./pipeline.ts";

export interface RunWords {
  readonly run: string;
  /** The last stage that is walked. */
  readonly until?: RunStage;
  /** While this file exists no stage begins. */
  readonly pauseFile?: string;
  /** Seconds a hook may take. */
  readonly hookTimeout: number;
  /** Seconds to wait for what a person does; without it there is no end. */
  readonly wait?: number;
  readonly staged: boolean;
  readonly skipBlocked: boolean;
  /** Seconds, of check and apply. */
  readonly watch?: number;
  /** Of a staged load. */
  readonly perMinute?: number;
  /** Connections that are not to be used, whatever says them. */
  readonly without?: readonly string[];
}

export type Words = { readonly [option: string]: unknown };

/** The commands a walk acts with: functions called here, each with the options of its own command line. */
export interface Hands {
  /** Every option of a command: these, what files of connections say, and its defaults. */
  readonly options: (command: string, words: Words) => Promise<object>;
  /** Runs it; gives its exit status. */
  readonly perform: (command: string, options: object) => Promise<number>;
}

/** Saves the decisions for later stages. A folder that an interrupted extract left empty becomes a run by it. */
export async function saveDecisions(words: RunWords): Promise<void> {
  const given = pick(words, Object.values(FOR_STAGES).flat());
  if (Object.keys(given).length === 0) return;
  await inRun(words.run, "run", { kind: "migration", create: true }, (run) =>
    saveOptions(run, "run", given),
  );
}

export function runAgain(words: RunWords): string {
  const { hookTimeout } = words;
  const choices = hookTimeout === HOOK_TIMEOUT ? {} : { hookTimeout };
  return nextCommand("run", words, { ...pick(words, RUN_OPTIONS), ...choices });
}

const RUN_OPTIONS: readonly string[] = [
  ...["until", "staged", "skip-blocked", "pause-file", "watch", "wait"],
];
const HOOK_TIMEOUT = 300;

/** The step that comes next, or plan if the run's plan is to be made again. @throws MigrationError N2I-E328 */
export async function plannedStep(
  run: RunFolder,
  files: RunFiles | null,
  step: NextStep | null,
  words: RunWords,
  hands: Hands,
): Promise<NextStep | null> {
  if (files === null || "missing" in files.plan) return step;
  const given = pick(words, FOR_STAGES.plan);
  const options: { readonly site?: string } = await hands.options("plan", {
    run: words.run,
    ...given,
  });
  const leftOut = [words.without ?? []].flat();
  // A lost file is no decision: an option that is absent now has to be left out by the command line.
  const changed = await changedOptions(
    run,
    options,
    (name) => leftOut.includes(name) || camel(name) in given,
  );
  const { site = null } = files.plan;
  const isOther =
    options.site === undefined
      ? site !== null && leftOut.includes("site")
      : (await (await loadMappings()).site(options.site)).sha256 !== site;
  return planAnew(step, files, words, isOther ? [...changed, "site"] : changed);
}

/**
 * A plan that was not applied is made again if its options are not those that it was made with.
 *
 * @param changed options that plan would be given now with another value
 * @throws MigrationError N2I-E328 if some of it was applied
 */
export function planAnew(
  step: NextStep | null,
  files: RunFiles,
  words: RunWords,
  changed: readonly string[],
): NextStep | null {
  // What is taken back, or read again, comes before any plan; a plan that comes anyway has the options.
  if (["extract", "rollback", "plan"].includes(step?.command ?? "")) return step;
  const isGiven = Object.keys(pick(words, changed)).length > 0;
  const isFirst = step?.command === "apply" && step.options === undefined;
  const { journal, plan } = files;
  if (changed.length === 0 || !(isGiven || isFirst) || "missing" in plan) return step;
  const names = changed.map((name) => (name === "site" ? "site document" : `--${name}`));
  const what = `made with another ${names.join(", ")}`;
  const same = `give the same options as before: ${runAgain(words)}`;
  if ("missing" in journal || plansOf(journal.entries, IRONIC).includes(plan.sha256))
    throw gate(`the plan was ${what}, and was applied`, `Make a new plan with it, or ${same}`);
  if (changesNova(files))
    throw gate(
      `the plan was ${what}, and ${FLAVORS}`,
      `To go on, ${same}; ${takenBackFirst(files)}`,
    );
  return { ...PLAN, again: `it was ${what}` };
}

/**
 * A plan whose power readings are too old is made again where nothing was done of it.
 *
 * @throws MigrationError N2I-E328 where Nova's rows are changed
 */
export function checkRenewable(files: RunFiles | null): void {
  if (files === null || !changesNova(files)) return;
  throw gate(
    `the plan's power readings are too old, or not its own, and ${FLAVORS}`,
    `If no machine was powered on or off since, let apply accept their age with --power-max-age; ${takenBackFirst(files)}`,
  );
}

const FLAVORS = "rows of Nova that it changes are changed already";

/** Whether a row of Nova is changed as the plan wants it: flavors come before Ironic's machines. */
function changesNova({ plan, journal }: RunFiles): boolean {
  if ("missing" in plan || "missing" in journal) return false;
  return NOVA_NAMES.some((name) => isThere(journal.entries, plan.sha256, name));
}

function takenBackFirst(files: RunFiles): string {
  const back: NextStep = { command: "rollback", options: { all: true } };
  return `or take them back first: ${lineOf(back, files)}`;
}

/**
 * Nobody stops a service, or waits for one, for a plan that is to be made again.
 *
 * @throws MigrationError N2I-E328 where a finished run had loaded what the plan would load again: it was deleted since
 */
export async function checkDeleted(
  run: RunFolder,
  step: NextStep,
  files: RunFiles | null,
): Promise<void> {
  if (files === null) return;
  const { journal } = files;
  const entries = "missing" in journal ? [] : journal.entries;
  // Also of a second load that was cut short: the run is not finished then.
  if (!entries.some((entry) => entry.do === "close")) return;
  const { first, count } = await createdAgain(run, entries, NAMED);
  if (count === 0) return;
  const more = count > first.length ? ` and ${count - first.length} more` : "";
  const byHand = { ...step, options: { ...step.options, afterFinish: true } } as const;
  throw gate(
    `this run loaded them before, and they were deleted from Ironic since: ${first.join(", ")}${more}; the plan would load them again`,
    `Leave them out with "skip" in the site document and plan again. If they are to come back: ${lineOf(byHand, files)}`,
  );
}

/** Where a walk ends with what a person has to do. @param fix where the same command is not what comes then */
export function gate(what: string, fix?: string): MigrationError {
  return new MigrationError("N2I-E328", what, fix === undefined ? {} : { fix });
}
