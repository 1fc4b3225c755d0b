import { ownershipOf } from "../../engine/ownership.ts";
import { counted, shellArgument } from "../../lib/text.ts";
import { skipsNova } from "../../migrate/hosts/nova-files.ts";
import {
  blockedText,
  isBlockedPlan,
  loadable,
  nothingText,
  requiresPower,
} from "../../migrate/plan/empty-plan.ts";
import { plansInIronic } from "../../migrate/plan/loaded-plans.ts";
import { goOnBack, rolledBackText } from "../../migrate/rollback/rollback-scope.ts";
import type { PlanCounts } from "../../model/artefact.ts";
import type { FinishState } from "../../model/handover.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { available, awayOf, type RunFiles, type TakenBack } from "../../run/files/run-files.ts";
import { type NextStep, nextCommand } from "../../run/next.ts";

export const EXTRACT: NextStep = { command: "extract" };
export const PLAN: NextStep = { command: "plan" };
const POWER: NextStep = { command: "power" };
const VERIFY: NextStep = { command: "verify" };
const RESUME: NextStep = {
  ...{ command: "apply", options: { yes: true } },
  note: "resumes where it stopped",
};
const LOADS_AGAIN: NextStep = {
  ...RESUME,
  note: "resumes where it stopped, and loads again the machines that were rolled back",
};
const TAKEOVER: NextStep = {
  ...{ command: "verify", options: { takeover: true } },
  note: "once every ironic-conductor has started",
};
const FINAL: NextStep = {
  ...{ command: "verify", options: { final: true } },
  note: "once the new nova-compute has started",
};
const FINISH: NextStep = { command: "finish" };

/** Options of a step that change its effect. A load continues in the mode in which it began. */
export function optionsOf({ command, options }: NextStep, { plan, handover }: RunFiles): object {
  if (command !== "apply") return { ...options };
  const skipBlocked = options !== undefined && !("missing" in plan) && isBlockedPlan(plan.counts);
  return { ...options, skipBlocked, staged: handover !== null };
}

export function lineOf(step: NextStep, files: RunFiles): string {
  const { command, note } = step;
  const { run = "RUN" } = files;
  const line =
    command === "show" ? showSkipped(run) : nextCommand(command, { run }, optionsOf(step, files));
  return note === undefined ? line : `${line}  # ${note}`;
}

/** The next command of a run, from its files alone. */
export function nextOf(files: RunFiles): string {
  const step = nextStepOf(files);
  if (step === null) return "nothing, this run is done";
  const { after } = step;
  const note = after && `if it finds no difference: ${lineOf(after, files)}`;
  return lineOf(note === undefined ? step : { ...step, note }, files);
}

/** For a finished run, one line for each group of machines that are not in Ironic. */
export function machinesNotInIronic(files: RunFiles): readonly string[] {
  const { plan, run = "RUN" } = files;
  if (stepOf(files) !== null || "missing" in plan) return [];
  const { blocked, conflict } = plan.counts.verdicts;
  const message = (machines: number, what: string, verdict: string): string =>
    `${counted(machines, "machine is", "machines are")} ${what}: nova2ironic show ${shellArgument(`${run}/plan`)} --match Verdict=${verdict}`;
  const again = [EXTRACT, POWER].map((step) => lineOf(step, files));
  return [
    ...(blocked === 0
      ? []
      : [
          message(blocked, "left behind", "blocked"),
          `Once the causes are fixed: ${[...again, nextCommand("run", { run })].join("\nthen: ")}`,
        ]),
    // Ironic may have the machine as a foreign node.
    ...(conflict === 0
      ? []
      : [message(conflict, "in conflict with existing Ironic rows", "conflict")]),
  ].flatMap((text) => text.split("\n"));
}

/** The operator's next step. A plan that apply would refuse must change first. */
export function nextStepOf(files: RunFiles): NextStep | null {
  const step = stepOf(files);
  const { plan } = files;
  if (step?.command !== "apply" || step.options !== undefined || "missing" in plan) return step;
  if (!isBlockedPlan(plan.counts)) return step;
  const note = `${blockedText(plan.counts)}: ${FIX}; or apply with --skip-blocked`;
  return { ...changeFirst(files), note };
}

const FIX = "fix the causes, or accept them in the site document, then run plan again";

/** The same files would make the same plan. */
function changeFirst({ hasReadings, outdated }: RunFiles): NextStep {
  if (hasReadings === false) return POWER;
  return outdated === true ? PLAN : { command: "show" };
}

/** The next step of a run, from its files alone. Null if it is done. */
export function stepOf(files: RunFiles): NextStep | null {
  const { snapshot, plan, journal, nova, hasReadings } = files;
  if ("missing" in snapshot)
    return !("missing" in journal) && plansInIronic(journal.entries).length === 0
      ? doneAgain(EXTRACT, snapshot, plan)
      : {
          ...EXTRACT,
          note: `${snapshot.missing}: it is the source of the loaded machines. Restore it if possible`,
        };
  const stale = "missing" in plan || plan.madeFrom !== snapshot.sha256;
  if (stale || (nova !== undefined && "missing" in nova))
    return (
      goOnBack(files) ??
      ("missing" in plan && hasReadings === false
        ? POWER
        : doneAgain(PLAN, stale ? plan : (nova ?? plan), plan))
    );
  // The journal is unreliable, but verify only reads the target.
  if ("missing" in journal) return withNova(VERIFY, nova);
  const back = goOnBack(files);
  if (back !== null) return back;
  const applied = withNovaRows(afterApply(files, journal.entries, plan), files, journal.entries);
  const isRepeated = loadable(plan.counts) === 0 || requiresPower(plan.counts);
  if (isFirst(applied) && isRepeated) return beforeLoading(plan.counts, files);
  const loaded = afterVerify(afterLoad(applied, files), files);
  return withFinish(withNova(loaded, nova), files);
}

function isFirst({ command, options }: NextStep): boolean {
  return command === "apply" && options === undefined;
}

/**
 * The work before the run can end. Null if the plan is loaded. Excludes machines rolled back by
 * name.
 */
export function unfinished(files: RunFiles) {
  const { journal, plan, nova } = files;
  if ("missing" in journal || "missing" in plan) return null;
  const refusal = (step: NextStep, reason: string, fix = APPLY_FIRST) => {
    return { reason, fix, next: lineOf(step, files) };
  };
  const back = goOnBack(files);
  // The machines of an unfinished rollback have Nova's old flavors again.
  if (back !== null)
    return refusal(
      back,
      `its rollback is not complete: ${back.note}`,
      "Resolve the rows that rollback --plan would leave, then run rollback again. Alternatively, load the other machines again with apply.",
    );
  const { entries } = journal;
  const step = withNovaRows(afterApply(files, entries, plan), files, entries);
  if (isFirst(step))
    return loadable(plan.counts) === 0
      ? null
      : refusal(withNova(step, nova), "its plan is not applied");
  return step.command === "apply"
    ? refusal(withNova(step, nova), "its load was stopped before it was complete")
    : null;
}

export const APPLY_FIRST = "Run apply, then finish again. rollback --node excludes a machine.";

/** A stage whose file changed or is missing. The reason is shown before it is replaced. */
function doneAgain(step: NextStep, file: object, plan: RunFiles["plan"]): NextStep {
  const reason = "missing" in file ? String(file.missing) : "it was made from a different snapshot";
  return reason.startsWith("N2I-E110 ") && "missing" in plan ? step : { ...step, again: reason };
}

/**
 * Whether the operator must decide, for example whether to load machines again after a rollback.
 */
export function isDecision({ command, note }: NextStep): boolean {
  if (note === undefined) return false;
  return ["extract", "power", "plan", "show"].includes(command) || note === LOADS_AGAIN.note;
}

/** A plan that apply would refuse in any case, or with outdated readings. */
function beforeLoading(counts: PlanCounts, files: RunFiles): NextStep {
  // This is no decision: the readings must use the settings of the conductors.
  if (requiresPower(counts))
    return files.hasReadings === false
      ? { ...POWER, again: "conductors will use settings that differ from the last power check" }
      : { ...PLAN, again: "power was checked again after the plan was made" };
  return { ...changeFirst(files), note: `${nothingText(counts)}: ${FIX}` };
}

/** The command that lists the machines that apply does not load, with the reasons. */
export function showSkipped(run: string): string {
  return `nova2ironic show ${shellArgument(`${run}/plan`)} --skipped`;
}

/** The next step after a successful verify: takeover, nova-compute, finish. */
function afterVerify(step: NextStep, { verified, rest }: RunFiles): NextStep {
  if (step.command !== "verify" || verified === undefined) return step;
  if (verified.final) return FINISH;
  if (verified.takeover) return FINAL;
  if (step.options?.takeover === true || !verified.rows) return step;
  // Over REST, a conductor already has each machine.
  return rest === true ? FINAL : TAKEOVER;
}

export function loadOf(files: RunFiles) {
  const { journal, plan } = files;
  if ("missing" in journal || "missing" in plan) return "none";
  const { command, options } = afterApply(files, journal.entries, plan);
  if (command === "verify") return "whole";
  return command === "apply" && options !== undefined ? "part" : "none";
}

type PlanFile = Exclude<RunFiles["plan"], { readonly missing: string }>;

function afterApply(files: RunFiles, entries: Entries, { sha256, counts }: PlanFile): NextStep {
  // Without a load of this plan, apply is the first write, even after other plans.
  if (!plansOf(entries, IRONIC).includes(sha256)) return { command: "apply" };
  const away = awayOf(files);
  const { open, rows, preExisting } = ownershipOf(entries, IRONIC, sha256);
  if (away !== null) {
    const note = rolledBackText(files);
    if (note === null) return { ...PLAN, note: "rolled back; or resume rollback" };
    // The other machines are partly loaded.
    return open.length > 0 || waitsInNova(files, entries, away) ? LOADS_AGAIN : { ...PLAN, note };
  }
  const existing = [...rows.values()].reduce((sum, more) => sum + more, preExisting.size);
  return open.length > 0 || existing < counts.nodes + counts.ports ? RESUME : VERIFY;
}

/** Nova's rows must be changed before the hand-over and before services start. */
function withNovaRows(step: NextStep, files: RunFiles, entries: Entries): NextStep {
  if (step.command !== "verify") return step;
  return waitsInNova(files, entries, awayOf(files)) ? RESUME : step;
}

/** Whether a stopped load has rows of Nova to change. */
function waitsInNova(files: RunFiles, entries: Entries, away: TakenBack | null): boolean {
  const { rows = false, final = false } = files.verified ?? {};
  const plan = available(files.nova)?.plan ?? null;
  // Verify read Nova itself, so it overrides the count, unless it found differences.
  if (plan === null || endOf(files) !== null || rows || final) return false;
  return skipsNova(plan, entries, away);
}

/** The next step of a staged load: hand-over after its rows were compared, then takeover. */
function afterLoad(next: NextStep, { compared = false, ...files }: RunFiles): NextStep {
  const handover = available(files.handover);
  if (next.command !== "verify" || handover === null) return next;
  const after: NextStep =
    handover.released < handover.staged
      ? { command: "handover" }
      : { command: "verify", options: { takeover: true } };
  // If apply stopped during its own verify, its rows were not compared.
  return handover.released === 0 && !compared ? { ...next, after } : after;
}

/** A plan without Nova needs the operator's `--leave-nova`. */
function withNova(step: NextStep, nova: RunFiles["nova"]): NextStep {
  const { command, options } = step;
  if (command !== "apply" || (nova !== undefined && ("missing" in nova || nova.plan !== null)))
    return step;
  return options?.yes === true
    ? { ...step, options: { ...options, leaveNova: true } }
    : {
        ...{ ...PLAN, options: { novaDb: "DB" } },
        note: "Nova is not in the plan; or apply it with --leave-nova",
      };
}

function withFinish(step: NextStep, files: RunFiles): NextStep | null {
  if (available(files.finish) === null) return step;
  const isEnded = endOf(files) !== null;
  // The run ended without the excluded machines.
  if (isEnded && step.note !== undefined && step.note === rolledBackText(files)) return null;
  if (step.command !== "verify" && step.command !== "finish") return step;
  if (isEnded) return null;
  return step.command === "finish" || step.note !== undefined ? step : { after: FINISH, ...step };
}

export function endOf({ finish }: RunFiles): FinishState["end"] {
  return available(finish)?.end ?? null;
}
