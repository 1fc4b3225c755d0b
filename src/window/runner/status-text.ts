import { ownershipOf } from "../../engine/ownership.ts";
import { counted } from "../../lib/text.ts";
import { heldText } from "../../migrate/rollback/way-back.ts";
import type { FinishState } from "../../model/handover.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import type { Missing, NovaState, RunFiles, Still } from "../../run/files/run-files.ts";
import { rehearsedText } from "../rehearse/rehearsal-file.ts";
import type { Standing } from "../report/rules/verdict.ts";
import { leftBehind, loadOf, nextOf } from "./pipeline.ts";
import { type BackFirst, backFirst, standingOf } from "./progress.ts";

export interface RunState {
  /** Facts by stage. */
  readonly fields: { readonly [stage: string]: string };
  readonly next: string;
  /** Machines that a finished run excluded, one line each. */
  readonly left: readonly string[];
  readonly standing: Standing;
  readonly back: readonly BackFirst[];
}

/** The facts of a run from its files alone, and the next step. */
export function statusOf(files: RunFiles): RunState {
  const { snapshot, plan, journal, handover, nova, boot, finish, held } = files;
  const extracted =
    "missing" in snapshot
      ? snapshot.missing
      : `${counted(snapshot.counts.machines, "machine")}, taken ${snapshot.taken_at}, sha256 ${snapshot.sha256.slice(0, 12)}`;
  const fresh =
    !("missing" in plan) && !("missing" in snapshot) && plan.madeFrom === snapshot.sha256;
  const planned =
    "missing" in plan
      ? plan.missing
      : `${counted(plan.counts.nodes, "node")} and ${counted(plan.counts.ports, "port")} to add to ${plan.release}, ${counted(plan.counts.verdicts.blocked + plan.counts.verdicts.conflict, "machine")} blocked, sha256 ${plan.sha256.slice(0, 12)}${fresh ? "" : "; made from another snapshot"}`;
  return {
    fields: {
      extract: extracted,
      plan: planned,
      ...rehearseField(files),
      apply: "missing" in journal ? journal.missing : appliedText(journal.entries, held),
      ...(handover !== null && { handover: handoverText(handover) }),
      ...(nova !== undefined && { nova: "missing" in nova ? nova.missing : novaText(nova) }),
      ...(boot !== undefined && { boot: "missing" in boot ? boot.missing : bootText(boot) }),
      ...(finish !== undefined && loadOf(files) === "whole" && { finish: finishText(finish) }),
    },
    ...{ next: nextOf(files), left: leftBehind(files) },
    ...{ standing: standingOf(files), back: backFirst(files) },
  };
}

function rehearseField({ rehearsal, plan }: RunFiles): { readonly rehearse?: string } {
  if (rehearsal === undefined) return {};
  return { rehearse: rehearsedText(rehearsal, "missing" in plan ? null : plan.sha256) };
}

function finishText(finish: FinishState | Missing): string {
  if ("missing" in finish) return finish.missing;
  if (finish.end !== null) return `done, ended ${finish.end.at} by ${finish.end.by}`;
  return finish.guards
    ? "not yet: until then deleting or rebuilding a tenant's server ends in ERROR"
    : "not yet";
}

function handoverText(handover: NonNullable<RunFiles["handover"]>): string {
  return "missing" in handover
    ? handover.missing
    : `${handover.released} of ${counted(handover.staged, "staged machine")} released`;
}

function novaText({ plan, entries, still }: NovaState): string {
  const planned =
    plan === null
      ? "not in the plan"
      : `${counted(plan.counts.hosts, "row")} of hosts and ${plan.counts.flavors + (plan.counts.api ?? 0)} of flavors to change, sha256 ${plan.sha256.slice(0, 12)}`;
  const done = plansOf(entries, ...NOVA_NAMES).map((sha256) =>
    doneText(entries, NOVA_NAMES, sha256, "changed"),
  );
  return [planned, ...done, ...(still === undefined ? [] : [stillText(still)])].join("; ");
}

function stillText(still: Still | Missing): string {
  if ("missing" in still) return still.missing;
  return `of the machines that were removed from Ironic, ${counted(still.rows, "row is", "rows are")} not restored`;
}

function bootText(boot: ReadonlyMap<string, number>): string {
  const trees = [...boot].map(
    ([tree, machines]) => `${counted(machines, "machine")} staged in ${tree}`,
  );
  return trees.join("; ") || "nothing is staged any more";
}

function count(batches: number): string {
  return counted(batches, "batch", "batches");
}

function doneText(
  entries: Entries,
  parts: readonly string[],
  sha256: string,
  done: string,
): string {
  const all = parts.map((part) => ownershipOf(entries, part, sha256));
  const sum = (of: (one: (typeof all)[number]) => number): number =>
    all.reduce((total, one) => total + of(one), 0);
  const [created, back] = [sum((one) => one.created), sum((one) => one.back)];
  const [begun, open] = [sum((one) => one.begun.length), sum((one) => one.open.length)];
  const left = sum((one) => one.left.size());
  return (
    `plan ${sha256.slice(0, 12)}: ${counted(created, "row")} ${done} in ${count(begun - open)}` +
    `${open > 0 ? `, ${count(open)} begun and not recorded as done` : ""}` +
    `${back > 0 ? `, ${counted(back, "row")} rolled back` : ""}` +
    `${left > 0 ? `, ${counted(left, "row")} left by rollback` : ""}`
  );
}

function appliedText(entries: Entries, held: RunFiles["held"]): string {
  const plans = plansOf(entries, IRONIC);
  const parts = plans.map((sha256) => doneText(entries, [IRONIC], sha256, "created"));
  return [...parts, heldText(held) ?? []].flat().join("; ") || "nothing was loaded";
}
