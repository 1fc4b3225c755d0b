import { ownershipOf } from "../engine/ownership.ts";
import type { FinishState } from "../model/handover.ts";
import { type Entry, IRONIC, plansOf } from "../model/journal.ts";
import { NOVA_NAMES } from "../parts/nova.ts";
import { isLoaded, nextOf } from "./pipeline.ts";
import type { Missing, NovaState, RunFiles, Still } from "./run-files.ts";

export interface RunState {
  /** Stage -> what is true of it. */
  readonly fields: { readonly [stage: string]: string };
  /** The next command. */
  readonly next: string;
}

/** What is true of a run, from its files alone, and what comes next. */
export function statusOf(files: RunFiles): RunState {
  const { snapshot, plan, journal, handover, nova, boot, finish } = files;
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
  return {
    fields: {
      extract: extracted,
      plan: planned,
      apply: "missing" in journal ? journal.missing : appliedText(journal.entries),
      ...(handover !== null && { handover: toldOf(handover) }),
      ...(nova !== undefined && { nova: "missing" in nova ? nova.missing : novaText(nova) }),
      ...(boot !== undefined && { boot: "missing" in boot ? boot.missing : bootText(boot) }),
      ...(finish !== undefined && isLoaded(files) && { finish: finishText(finish) }),
    },
    next: nextOf(files),
  };
}

function finishText(finish: FinishState | Missing): string {
  if ("missing" in finish) return finish.missing;
  if (finish.end !== null) return `done, ended ${finish.end.at} by ${finish.end.by}`;
  return finish.guards
    ? "not yet: until then deleting or rebuilding a tenant's server ends in ERROR"
    : "not yet";
}

function toldOf(handover: NonNullable<RunFiles["handover"]>): string {
  return "missing" in handover
    ? handover.missing
    : `${handover.released} of ${handover.staged} staged machines released`;
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

function appliedText(entries: readonly Entry[]): string {
  const plans = plansOf(entries, IRONIC);
  const parts = plans.map((sha256) => doneText(entries, [IRONIC], sha256, "created"));
  return parts.join("; ") || "nothing was loaded";
}
