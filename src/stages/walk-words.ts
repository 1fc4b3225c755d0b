import { MigrationError } from "../model/error.ts";
import { IRONIC, plansOf } from "../model/journal.ts";
import { type NextStep, newForPlan } from "./given.ts";
import { rememberGiven, withEarlier } from "./given-file.ts";
import type { RunStage } from "./journey.ts";
import { camel, FOR_STAGES, nextCommand, pick } from "./next.ts";
import { PLAN } from "./pipeline.ts";
import { inRun } from "./run.ts";
import type { RunFiles } from "./run-files.ts";
import type { Sink } from "./sink.ts";

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
}

const PASSED = [...FOR_STAGES.power, ...FOR_STAGES.plan];

/** What was given for stages to come outlives whatever ends this walk. @returns whether anything was */
export async function keepWords(words: RunWords): Promise<boolean> {
  const given = pick(words, PASSED);
  if (Object.keys(given).length === 0) return false;
  await inRun(words.run, "run", { create: false }, async (run) =>
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
  { say }: Pick<Sink, "say">,
): NextStep | null {
  // What is taken back, or read anew, comes before any plan; a plan that comes anyway has the words.
  if (["extract", "rollback", "plan"].includes(step?.command ?? "")) return step;
  if (files === null || "missing" in files.plan) return step;
  const wanted = newForPlan(words, files.said);
  if (wanted.length === 0) return step;
  const what = `the plan was made without ${wanted.map((name) => `--${name}`).join(", ")} as given now`;
  const { journal, plan } = files;
  if ("missing" in journal || plansOf(journal.entries, IRONIC).includes(plan.sha256))
    throw gate(
      `${what}, and was applied`,
      `Make a new plan with it, or leave it out: ${againWithout(words, wanted)}`,
    );
  say(`${what.slice(0, 1).toUpperCase()}${what.slice(1)}: it is made again.`);
  return PLAN;
}

function againWithout(words: RunWords, options: readonly string[]): string {
  const out = Object.fromEntries(options.map((name) => [camel(name), undefined]));
  return nextCommand("run", { ...words, ...out });
}

/** Where a walk ends with what a person has to do. @param fix where the same command is not what comes then */
export function gate(what: string, fix?: string): MigrationError {
  return new MigrationError("N2I-E328", what, fix === undefined ? {} : { fix });
}
