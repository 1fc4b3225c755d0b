import { ownershipOf } from "../engine/ownership.ts";
import type { PlanCounts, SnapshotCounts } from "../model/artefact.ts";
import type { FinishState } from "../model/handover.ts";
import { batchesOf, type Entry, IRONIC, plansOf } from "../model/journal.ts";
import type { NovaPlanCounts, NovaPlanHeader } from "../model/nova-plan.ts";
import { NOVA_NAMES } from "../parts/nova.ts";
import { EXTRACT, type NextStep, PLAN, POWER, type Said, wordsOf } from "./next-step.ts";
import { novaOptions } from "./nova-words.ts";
import { scopeOptions, type TakenBack } from "./still-changed.ts";

type Missing = { readonly missing: string };

/** What a run's folder holds. */
export interface RunFiles {
  readonly snapshot:
    | { readonly counts: SnapshotCounts; readonly sha256: string; readonly taken_at: string }
    | Missing;
  readonly plan:
    | {
        readonly counts: PlanCounts;
        readonly sha256: string;
        readonly madeFrom: string;
        readonly release: string;
      }
    | Missing;
  /** The plan for Nova that belongs to the plan, and what was done of any; absent: there was none. */
  readonly nova?: NovaState | Missing;
  readonly journal: { readonly entries: readonly Entry[]; readonly torn: boolean } | Missing;
  /** Of a load that was staged: machines it stages, and those released; null: it was not. */
  readonly handover: { readonly staged: number; readonly released: number } | Missing | null;
  /** What the run's files know of earlier command lines; absent: nothing. */
  readonly said?: Said;
  /** Machines with boot files staged, by tree; absent: nothing was staged. */
  readonly boot?: ReadonlyMap<string, number> | Missing;
  readonly finish?: FinishState | Missing;
}

interface NovaState {
  readonly plan: {
    readonly sha256: string;
    readonly counts: NovaPlanCounts;
    readonly header?: Pick<NovaPlanHeader, "api">;
  } | null;
  readonly entries: readonly Entry[];
  /** Rows that are changed still though the machines were taken from Ironic; absent: none were. */
  readonly still?: Still | Missing;
}

export interface Still {
  readonly rows: number;
  readonly machines: TakenBack;
  /** Where the flavors of the plans are that changed them. */
  readonly api: NovaPlanHeader["api"];
}

export interface RunState {
  /** Stage -> what is true of it. */
  readonly fields: { readonly [stage: string]: string };
  /** The next command. */
  readonly next: string;
}

const DONE = "nothing; this run is done";

/** What is true of a run, from its files alone, and what comes next. */
export function statusOf(files: RunFiles): RunState {
  const { snapshot, plan, journal, handover, nova, boot, said, finish } = files;
  const before = "missing" in plan && said?.asked === false ? POWER : PLAN;
  const extracted =
    "missing" in snapshot
      ? snapshot.missing
      : `${snapshot.counts.machines} machines, taken ${snapshot.taken_at}, sha256 ${snapshot.sha256.slice(0, 12)}`;
  const fresh =
    !("missing" in plan) && !("missing" in snapshot) && plan.madeFrom === snapshot.sha256;
  const planned =
    "missing" in plan
      ? plan.missing
      : `${plan.counts.nodes} nodes and ${plan.counts.ports} ports to add to ${plan.release}, ${plan.counts.verdicts.blocked + plan.counts.verdicts.conflict} machines blocked, sha256 ${plan.sha256.slice(0, 12)}${fresh ? "" : "; made from another snapshot"}`;
  const entries = "missing" in journal ? [] : journal.entries;
  const applied = appliedOf(
    entries,
    "missing" in plan ? null : { sha256: plan.sha256, rows: plan.counts.nodes + plan.counts.ports },
  );
  const step: NextStep =
    "missing" in snapshot
      ? EXTRACT
      : !fresh || isBroken(nova)
        ? (novaBack(nova) ?? before)
        : "missing" in journal // what it says is in doubt; verify asks the target alone
          ? withNova({ command: "verify" }, nova)
          : (novaBack(nova) ?? withNova(afterLoad(applied.next, handover), nova));
  const mayFinish = fresh && !isBroken(nova) && !("missing" in journal);
  return {
    fields: {
      extract: extracted,
      plan: planned,
      apply: "missing" in journal ? journal.missing : applied.text,
      ...(handover !== null && { handover: toldOf(handover) }),
      ...(nova !== undefined && { nova: "missing" in nova ? nova.missing : novaText(nova) }),
      ...(boot !== undefined && { boot: "missing" in boot ? boot.missing : bootText(boot) }),
      ...(finish !== undefined && isLoaded(applied) && { finish: finishText(finish) }),
    },
    next: withFinish(step, mayFinish ? finish : undefined, (one) =>
      wordsOf(one, said, handover !== null),
    ),
  };
}

/** Whether the plan is in Ironic, as far as the journal knows. */
function isLoaded({ next }: { readonly next: NextStep }): boolean {
  return next.command === "verify";
}

function finishText(finish: FinishState | Missing): string {
  if ("missing" in finish) return finish.missing;
  if (finish.end !== null) return `done, ended ${finish.end.at} by ${finish.end.by}`;
  return finish.guards
    ? "not yet: until then deleting or rebuilding a tenant's server ends in ERROR"
    : "not yet";
}

/** The last command of the window, once verify finds nothing. */
function withFinish(
  step: NextStep,
  finish: RunFiles["finish"],
  words: (step: NextStep) => string,
): string {
  if (finish === undefined || "missing" in finish || step.command !== "verify") return words(step);
  if (finish.end !== null) return DONE;
  const note = `where it finds nothing: ${words({ command: "finish" })}`;
  return words({ ...step, note });
}

function toldOf(handover: NonNullable<RunFiles["handover"]>): string {
  return "missing" in handover
    ? handover.missing
    : `${handover.released} of ${handover.staged} staged machines released`;
}

/** A whole load that was staged waits for its hand-over; after that, for the conductors. */
function afterLoad(next: NextStep, handover: RunFiles["handover"]): NextStep {
  if (next.command !== "verify" || handover === null || "missing" in handover) return next;
  return handover.released < handover.staged
    ? { command: "handover" }
    : { command: "verify", options: { takeover: true } };
}

/** Whether what is loaded of a plan was loaded staged, since everything was rolled back last. */
export function wasStaged(journal: readonly Entry[], plan: string): boolean {
  const entries = batchesOf(journal, IRONIC);
  if (entries.length === 0)
    return journal.some((entry) => entry.do === "target" && entry.staged === true);
  const back = entries.findLastIndex((entry) => entry.do === "undo" && entry.nodes === "all");
  return entries
    .slice(back + 1)
    .some((entry) => entry.do === "begin" && entry.plan === plan && entry.staged === true);
}

/** The plan's files of Nova cannot be read. */
function isBroken(nova: RunFiles["nova"]): boolean {
  return nova !== undefined && "missing" in nova;
}

/** Commands that look at Nova's rows too want its database; a plan without it loads by the operator's word alone. */
function withNova(step: NextStep, nova: RunFiles["nova"]): NextStep {
  const { command, options } = step;
  const wants = command === "apply" || (command === "verify" && options?.takeover !== true);
  if (!wants || (nova !== undefined && "missing" in nova)) return step;
  if (nova !== undefined && nova.plan !== null)
    return { ...step, nova: novaOptions(nova.plan.header?.api) };
  if (command === "verify") return step;
  return options?.yes === true
    ? { ...step, options: { ...options, leaveNova: true } }
    : { ...PLAN, note: "Nova is not in the plan; or apply it with --leave-nova" };
}

/** A rollback of Ironic alone leaves instances on hosts that no longer have their machines. */
function novaBack(nova: RunFiles["nova"]): NextStep | null {
  if (nova === undefined || "missing" in nova || nova.still === undefined) return null;
  const { still } = nova;
  if ("missing" in still || still.rows === 0) return null;
  return {
    command: "rollback",
    nova: { ...novaOptions(still.api), ...scopeOptions(still.machines) },
    note: `${still.rows} rows of nova are changed still`,
  };
}

function novaText({ plan, entries, still }: NovaState): string {
  const planned =
    plan === null
      ? "not in the plan"
      : `${plan.counts.hosts} rows of hosts and ${plan.counts.flavors + (plan.counts.api ?? 0)} of flavors to change, sha256 ${plan.sha256.slice(0, 12)}`;
  const done = plansOf(entries, ...NOVA_NAMES).map((sha256) =>
    doneText(entries, NOVA_NAMES, sha256, "changed"),
  );
  return [planned, ...done, ...(still === undefined ? [] : [stillText(still)])].join("; ");
}

function stillText(still: Still | Missing): string {
  if ("missing" in still) return still.missing;
  return `of what was taken from Ironic, ${still.rows} rows are changed still`;
}

function bootText(boot: ReadonlyMap<string, number>): string {
  const trees = [...boot].map(([tree, machines]) => `${machines} machines staged in ${tree}`);
  return trees.join("; ") || "nothing is staged any more";
}

function count(batches: number): string {
  return batches === 1 ? "1 batch" : `${batches} batches`;
}

function doneText(
  entries: readonly Entry[],
  parts: readonly string[],
  sha256: string,
  done: string,
): string {
  const all = parts.map((part) => ownershipOf(entries, part, sha256));
  const sum = (of: (one: (typeof all)[number]) => number): number =>
    all.reduce((total, one) => total + of(one), 0);
  const [created, back] = [sum((one) => one.created), sum((one) => one.back)];
  const [begun, open] = [sum((one) => one.begun.length), sum((one) => one.open.length)];
  const left = sum((one) => one.left.size);
  return (
    `plan ${sha256.slice(0, 12)}: ${created} rows ${done} in ${count(begun - open)}` +
    `${open > 0 ? `, ${count(open)} begun and not recorded as done` : ""}` +
    `${back > 0 ? `, ${back} rows rolled back` : ""}` +
    `${left > 0 ? `, ${left} rows left by rollback` : ""}`
  );
}

function appliedOf(
  entries: readonly Entry[],
  plan: { readonly sha256: string; readonly rows: number } | null,
): { readonly text: string; readonly next: NextStep } {
  const plans = plansOf(entries, IRONIC);
  if (plans.length === 0) return { text: "nothing was loaded", next: { command: "apply" } };
  const parts = plans.map((sha256) => doneText(entries, [IRONIC], sha256, "created"));
  const text = parts.join("; ");
  if (plan === null) return { text, next: PLAN };
  const last = batchesOf(entries, IRONIC).at(-1);
  const { open, rows, preExisting } = ownershipOf(entries, IRONIC, plan.sha256);
  const there = [...rows.values()].reduce((sum, more) => sum + more, preExisting.size);
  const next: NextStep =
    last?.do === "undo" || last?.do === "undone"
      ? { ...PLAN, note: "rolled back; or go on with rollback" }
      : open.length > 0 || there < plan.rows
        ? { command: "apply", options: { yes: true }, note: "goes on where it stopped" }
        : { command: "verify" };
  return { text, next };
}
