import { MigrationError } from "../../lib/error.ts";
import { NAMED } from "../../lib/text.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { createdAgain, isThere } from "../../migrate/plan/loaded-plans.ts";
import { novaOptions } from "../../migrate/rollback/way-back.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import { rememberGiven, withEarlier } from "../../run/files/given-file.ts";
import type { RunFiles } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { type NextStep, newForPlan, wordsOf } from "../../run/given.ts";
import { camel, FOR_STAGES, nextCommand, pick } from "../../run/next.ts";
import { inRun } from "../../run/run.ts";
import type { RunStage } from "../../run/stages.ts";
import { PLAN } from "./pipeline.ts";

/** What run is given. */
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

/** Options of a command by their names. */
export type Words = { readonly [option: string]: unknown };

/** The commands a walk acts with: functions called here, each with the options of its own command line. */
export interface Hands {
  /** Every option of a command: these, what files of connections say, and its defaults. */
  readonly options: (command: string, words: Words) => Promise<object>;
  /** Runs it; gives its exit status. */
  readonly perform: (command: string, options: object) => Promise<number>;
}

const PASSED = [...FOR_STAGES.power, ...FOR_STAGES.plan];

/**
 * What was given for stages to come outlives whatever ends this walk.
 *
 * @param create the run begins with it
 * @returns whether anything was
 */
export async function keepWords(words: RunWords, create = false): Promise<boolean> {
  const given = pick(words, PASSED);
  if (Object.keys(given).length === 0) return false;
  await inRun(words.run, "run", { kind: "migration", create }, async (run) =>
    rememberGiven(run, "run", pick(await withEarlier(run, "run", given), PASSED)),
  );
  return true;
}

/**
 * A plan that nothing was done of is made again where it is wanted otherwise.
 *
 * @throws MigrationError N2I-E328 where some of it was
 */
export function planAnew(
  step: NextStep | null,
  files: RunFiles | null,
  words: RunWords,
): NextStep | null {
  // What is taken back, or read anew, comes before any plan; a plan that comes anyway has the words.
  if (["extract", "rollback", "plan"].includes(step?.command ?? "")) return step;
  if (files === null || "missing" in files.plan) return step;
  const wanted = newForPlan(words, files.said);
  if (wanted.length === 0) return step;
  const what = `made without ${wanted.map((name) => `--${name}`).join(", ")} as given now`;
  const { journal, plan } = files;
  if ("missing" in journal || plansOf(journal.entries, IRONIC).includes(plan.sha256))
    throw gate(
      `the plan was ${what}, and was applied`,
      `Make a new plan with it, or leave it out: ${againWithout(words, wanted)}`,
    );
  if (changesNova(files))
    throw gate(
      `the plan was ${what}, and ${FLAVORS}`,
      `Leave it out: ${againWithout(words, wanted)}; ${takenBackFirst(files)}`,
    );
  return { ...PLAN, again: `it was ${what}` };
}

/**
 * A plan that nothing was done of is made again where the site document, or the new compute host, is another by now:
 * whoever wrote that down expects it to be in what is loaded. One that is named nowhere any more is another only by
 * `--without`: a lost file of connections is no decision.
 *
 * @param options what plan would be given now
 * @throws MigrationError N2I-E328 where some of it was applied
 */
export async function planAsNamed(
  step: NextStep | null,
  files: RunFiles | null,
  { without }: Pick<RunWords, "without">,
  options: () => Promise<{ readonly site?: string; readonly computeHost?: readonly string[] }>,
): Promise<NextStep | null> {
  if (step?.command !== "apply" || step.options !== undefined) return step;
  if (files === null || "missing" in files.plan) return step;
  const { plan, nova } = files;
  const { site, computeHost } = await options();
  const isLeftOut = (option: string): boolean => [without ?? []].flat().includes(option);
  const planned = nova === undefined || "missing" in nova ? null : nova.plan;
  const hosts = planned?.header?.compute_hosts;
  const isOther =
    site === undefined
      ? isLeftOut("site") && (plan.site ?? null) !== null
      : (await (await loadMappings()).site(site)).sha256 !== plan.site;
  const isElsewhere =
    hosts !== undefined &&
    (computeHost === undefined
      ? isLeftOut("compute-host") && hosts.length > 0
      : JSON.stringify(computeHost) !== JSON.stringify(hosts));
  if (!isOther && !isElsewhere) return step;
  const named = isOther ? site : computeHost && "--compute-host";
  const option = isOther ? "site" : "compute-host";
  const which = `the ${isOther ? "site document" : "compute host"} that the plan was made with`;
  const what =
    named === undefined ? `--without ${option} leaves out ${which}` : `${named} is not ${which}`;
  if (!changesNova(files)) return { ...PLAN, again: what };
  throw gate(
    `${what}, and ${FLAVORS}`,
    `Have it as it was, and give the same command again; ${takenBackFirst(files)}`,
  );
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
    `Where no machine was switched since, have apply accept their age with --power-max-age; ${takenBackFirst(files)}`,
  );
}

const FLAVORS = "rows of Nova that it changes are changed already";

/** Whether a row of Nova is changed as the plan wants it: flavors come before Ironic's machines. */
function changesNova({ plan, journal }: RunFiles): boolean {
  if ("missing" in plan || "missing" in journal) return false;
  return NOVA_NAMES.some((name) => isThere(journal.entries, plan.sha256, name));
}

/** How a plan that was begun with Nova's rows is given up. */
function takenBackFirst({ nova, said, handover }: RunFiles): string {
  const api = nova === undefined || "missing" in nova ? undefined : nova.plan?.header?.api;
  const back: NextStep = { command: "rollback", nova: { ...novaOptions(api), all: true } };
  return `or take them back first: ${wordsOf(back, said, handover !== null)}`;
}

function againWithout(words: RunWords, options: readonly string[]): string {
  const out = Object.fromEntries(options.map((name) => [camel(name), undefined]));
  return nextCommand("run", { ...words, ...out });
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
  const { journal, handover = null, said } = files ?? {};
  const entries = journal === undefined || "missing" in journal ? [] : journal.entries;
  // Also of a second load that was cut short: the run is not finished then.
  if (!entries.some((entry) => entry.do === "close")) return;
  const { first, count } = await createdAgain(run, entries, NAMED);
  if (count === 0) return;
  const more = count > first.length ? ` and ${count - first.length} more` : "";
  const byHand = { ...step, options: { ...step.options, afterFinish: true } } as const;
  throw gate(
    `this run loaded them before, and they were deleted from Ironic since: ${first.join(", ")}${more}; the plan would load them again`,
    `Leave them out with "skip" in the site document and plan again. If they are to come back: ${wordsOf(byHand, said, handover !== null)}`,
  );
}

/** Where a walk ends with what a person has to do. @param fix where the same command is not what comes then */
export function gate(what: string, fix?: string): MigrationError {
  return new MigrationError("N2I-E328", what, fix === undefined ? {} : { fix });
}
