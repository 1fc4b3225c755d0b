import type { JournalEntry, PlanCounts, SnapshotCounts } from "../../model/artefact.ts";
import type { FinishState } from "../../model/finish.ts";
import type { NovaEntry, NovaPlanCounts, NovaPlanHeader } from "../../model/nova-plan.ts";
import { ledgerOf, plansOf } from "./ledger.ts";
import { novaWords } from "./nova-words.ts";
import { scopeWords, type TakenBack } from "./still-changed.ts";

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
  readonly journal: { readonly entries: readonly JournalEntry[]; readonly torn: boolean } | Missing;
  /** Of a load that was staged: machines it stages, and those released; null: it was not. */
  readonly handover: { readonly staged: number; readonly released: number } | Missing | null;
  /** What the run's files know of the command line of plan; absent: nothing. */
  readonly said?: {
    /** Path of the site document that power was given. */
    readonly site: string | null;
    readonly allowPairing: boolean;
    /** Whether there are power readings. */
    readonly asked: boolean;
  };
  /** Machines with boot files staged, by tree; absent: nothing was staged. */
  readonly boot?: ReadonlyMap<string, number> | Missing;
  readonly finish?: FinishState | Missing;
}

export interface NovaState {
  readonly plan: {
    readonly sha256: string;
    readonly counts: NovaPlanCounts;
    readonly header?: Pick<NovaPlanHeader, "api">;
  } | null;
  readonly entries: readonly NovaEntry[];
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
  /** The next command; RUN stands for the folder. */
  readonly next: string;
}

const EXTRACT = "nova2ironic extract --run RUN --nova-bm-db DB --nova-db DB";
const PLAN = "nova2ironic plan --run RUN --ironic-db DB --nova-db DB";
const POWER = "nova2ironic power --run RUN";
const APPLY_RUN = "nova2ironic apply --run RUN";
const APPLY = `${APPLY_RUN} --ironic-db DB`;
const VERIFY = "nova2ironic verify --run RUN --ironic-db DB";
const RELEASE = "nova2ironic release --run RUN --ironic-db DB";
const FINISH = "nova2ironic finish --run RUN --ironic-db DB";
const DONE = "nothing; this run is done";
const ROLLBACK = "nova2ironic rollback --run RUN --ironic-db DB";

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
  const next =
    "missing" in snapshot
      ? EXTRACT
      : !fresh || isCut(plan, nova)
        ? (novaBack(nova) ?? before)
        : "missing" in journal // what it says is in doubt; verify asks the target alone
          ? withNova(VERIFY, nova)
          : (novaBack(nova) ??
            withFinish(withNova(afterLoad(applied.next, handover), nova), finish));
  return {
    fields: {
      extract: extracted,
      plan: planned,
      apply: "missing" in journal ? journal.missing : applied.text,
      ...(handover !== null && { release: toldOf(handover) }),
      ...(nova !== undefined && { nova: "missing" in nova ? nova.missing : novaText(nova) }),
      ...(boot !== undefined && { boot: "missing" in boot ? boot.missing : bootText(boot) }),
      ...(finish !== undefined && isLoaded(applied) && { finish: finishText(finish) }),
    },
    next: next
      .replace(PLAN, `${PLAN}${planWords(files)}`)
      .replace(APPLY_RUN, handover === null ? APPLY_RUN : `${APPLY_RUN} --staged`),
  };
}

/** Words of plan that a plan made again wants as before. */
function planWords({ said }: RunFiles): string {
  if (said === undefined) return "";
  const { site, allowPairing } = said;
  return `${site === null ? "" : ` --site ${site}`}${allowPairing ? " --allow-pairing" : ""}`;
}

/** Whether the plan is in Ironic, as far as the journal knows. */
function isLoaded({ next }: { readonly next: string }): boolean {
  return next === VERIFY;
}

function finishText(finish: FinishState | Missing): string {
  if ("missing" in finish) return finish.missing;
  if (finish.end !== null) return `done, ended ${finish.end.at} by ${finish.end.by}`;
  return finish.guards
    ? "not yet: until then deleting or rebuilding a tenant's server ends in ERROR"
    : "not yet";
}

/** The last command of the window, once verify finds nothing. */
function withFinish(next: string, finish: RunFiles["finish"]): string {
  if (finish === undefined || "missing" in finish || !next.startsWith(VERIFY)) return next;
  return finish.end === null ? `${next}  (where it finds nothing: ${FINISH})` : DONE;
}

function toldOf(handover: NonNullable<RunFiles["handover"]>): string {
  return "missing" in handover
    ? handover.missing
    : `${handover.released} of ${handover.staged} staged machines released`;
}

/** A whole load that was staged waits for its release; after that, for the conductors. */
function afterLoad(next: string, handover: RunFiles["handover"]): string {
  if (next !== VERIFY || handover === null || "missing" in handover) return next;
  return handover.released < handover.staged ? RELEASE : `${VERIFY} --takeover`;
}

/** Whether what is loaded of a plan was loaded staged, since everything was rolled back last. */
export function wasStaged(entries: readonly JournalEntry[], plan: string): boolean {
  if (entries.every((entry) => entry.do === "open"))
    return entries.some((entry) => entry.do === "open" && entry.staged === true);
  const back = entries.findLastIndex((entry) => entry.do === "undo" && entry.nodes === "all");
  return entries
    .slice(back + 1)
    .some((entry) => entry.do === "begin" && entry.plan === plan && entry.staged === true);
}

/** The plan was made with a plan for Nova, and that is not beside it whole. */
function isCut(plan: RunFiles["plan"], nova: RunFiles["nova"]): boolean {
  const wanted = !("missing" in plan) && plan.counts.nova !== undefined;
  return wanted && nova !== undefined && "missing" in nova;
}

/** Commands that look at Nova's rows too want its database; a plan without it loads by the operator's word alone. */
function withNova(command: string, nova: RunFiles["nova"]): string {
  const wants = /^nova2ironic (apply|verify) (?!.*--takeover)/.test(command);
  if (!wants || (nova !== undefined && "missing" in nova)) return command;
  if (nova === undefined || nova.plan === null) {
    if (command === APPLY)
      return `${PLAN}  (Nova is not in the plan; or apply it with --leave-nova)`;
    return command.replace(APPLY, `${APPLY} --leave-nova`);
  }
  return command.replace("--ironic-db DB", `--ironic-db DB${novaWords(nova.plan.header?.api)}`);
}

/** A rollback of Ironic alone leaves instances on hosts that no longer have their machines. */
function novaBack(nova: RunFiles["nova"]): string | null {
  if (nova === undefined || "missing" in nova || nova.still === undefined) return null;
  const { still } = nova;
  if ("missing" in still || still.rows === 0) return null;
  return `${ROLLBACK}${novaWords(still.api)} ${scopeWords(still.machines)}  (${still.rows} rows of nova are changed still)`;
}

function novaText({ plan, entries, still }: NovaState): string {
  const planned =
    plan === null
      ? "no plan for it belongs to the plan"
      : `${plan.counts.hosts} rows of hosts and ${plan.counts.flavors + (plan.counts.api ?? 0)} of flavors to change, sha256 ${plan.sha256.slice(0, 12)}`;
  const told = entries.filter((entry) => entry.do !== "open");
  const done = plansOf(told).map((sha256) => doneText(told, sha256, "changed"));
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

function doneText(entries: readonly JournalEntry[], sha256: string, done: string): string {
  const { begun, open, created, back, left } = ledgerOf(entries, sha256);
  return (
    `plan ${sha256.slice(0, 12)}: ${created} rows ${done} in ${count(begun.length - open.length)}` +
    `${open.length > 0 ? `, ${count(open.length)} begun and not recorded as done` : ""}` +
    `${back > 0 ? `, ${back} rows rolled back` : ""}` +
    `${left.size > 0 ? `, ${left.size} rows left by rollback` : ""}`
  );
}

function appliedOf(
  entries: readonly JournalEntry[],
  plan: { readonly sha256: string; readonly rows: number } | null,
): { readonly text: string; readonly next: string } {
  const plans = plansOf(entries);
  if (plans.length === 0) return { text: "nothing was loaded", next: APPLY };
  const parts = plans.map((sha256) => doneText(entries, sha256, "created"));
  const text = parts.join("; ");
  if (plan === null) return { text, next: PLAN };
  const last = entries.findLast((entry) => entry.do !== "open");
  const { open, rows, foreign } = ledgerOf(entries, plan.sha256);
  const there = [...rows.values()].reduce((sum, more) => sum + more, foreign.size);
  const next =
    last?.do === "undo" || last?.do === "undone"
      ? `${PLAN}  (rolled back; or go on with rollback)`
      : open.length > 0 || there < plan.rows
        ? `${APPLY} --yes  (goes on where it stopped)`
        : VERIFY;
  return { text, next };
}
