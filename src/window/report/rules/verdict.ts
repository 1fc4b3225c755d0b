import { counted } from "../../../lib/text.ts";
import type { PlanCounts, PlanHeader } from "../../../model/artefact.ts";
import { stepsOf } from "../../../model/nova/nova-plan.ts";
import type { NovaTotals, ReportFacts, Totals } from "./facts.ts";

export interface CurrentState {
  /** `part`: apply was stopped, or a rollback left rows. */
  readonly load: "none" | "part" | "whole";
  readonly staged: number;
  /** The result of the last comparison since the last write. */
  readonly verified: "no" | "failed" | "yes";
  /** `verify --final` found every machine in Nova, or finish ended the run. */
  readonly ended: boolean;
}

interface Judged {
  readonly header: PlanHeader;
  readonly counts: PlanCounts;
  readonly totals: Totals;
  readonly nova: Pick<NovaTotals, "counts"> | null;
  /** The plan was made from the run's snapshot. */
  readonly fresh: boolean;
  readonly status: CurrentState;
}

/** Whether the plan can be applied: one sentence with numbers, and further facts. */
export function judge(judged: Judged): ReportFacts["verdict"] {
  const { counts, status } = judged;
  const [stops, risks] = [stopsOf(judged), risksOf(judged)];
  const isRisky = stops.length + risks.length > 0;
  const lines = [...stops, ...risks, changes(judged)].map(sentence);
  if (status.load !== "none") {
    const done = status.load === "whole" && status.staged === 0 && status.ended;
    return { level: !done || isRisky ? "risks" : "ready", title: loadedTitle(judged), lines };
  }
  const [stop] = stops;
  if (stop !== undefined)
    return { level: "not-ready", title: `Not ready: ${stop}.`, lines: lines.slice(1) };
  const all = `${counted(loads(counts), "machine")} of ${counts.machines} can be loaded.`;
  return isRisky
    ? { level: "risks", title: `Ready with accepted risks: ${all}`, lines }
    : { level: "ready", title: `Ready: ${all}`, lines };
}

/** Loaded machines, and checks that are missing. */
function loadedTitle({ counts, status }: Judged): string {
  const { load, staged, verified, ended } = status;
  const all = `${counted(loads(counts), "machine")} of ${counts.machines}`;
  if (load === "part")
    return "Partly loaded: according to the journal, not all of the plan is in Ironic and Nova. Continue with apply, or roll back.";
  const are = `${all} ${loads(counts) === 1 ? "is" : "are"} in Ironic, according to the journal`;
  if (staged > 0)
    return `Loaded, not handed over: ${are}; ${counted(staged, "machine")} in maintenance until handover.`;
  if (ended) return `Loaded: ${are}.`;
  switch (verified) {
    case "no":
      return `Loaded, not verified: ${are}.`;
    case "failed":
      return `Loaded, not as planned: ${are}, and verify found differences.`;
    case "yes":
      return `Loaded and verified, not finished: ${are}.`;
  }
}

function loads({ verdicts }: PlanCounts): number {
  return verdicts.create + verdicts.unchanged + verdicts.drift;
}

/** The reasons why the plan cannot be applied, most important first. */
function stopsOf({ counts, fresh }: Judged): readonly string[] {
  const { blocked, conflict } = counts.verdicts;
  const some: string[] = [];
  if (!fresh) some.push("the plan was made from a snapshot other than the one in this run");
  if (blocked + conflict > 0)
    some.push(
      `${blocked + conflict} of ${counted(counts.machines, "machine")} cannot be loaded as they are`,
    );
  if (loads(counts) === 0) some.push("the plan loads no machine");
  return some;
}

/** Accepted risks of this plan. */
function risksOf({ header, counts, totals, nova }: Judged): readonly string[] {
  const { drift } = counts.verdicts;
  const some: string[] = [];
  if (totals.risky > 0)
    some.push(
      `${counted(totals.risky, "machine is", "machines are")} loaded only because the site document accepts a blocking finding`,
    );
  if (drift > 0)
    some.push(`${counted(drift, "machine")} changed after the load, and will not be modified`);
  if (header.pairing.allowed === "override")
    some.push(
      `Nova and Ironic have releases that do not match (--allow-pairing): ${header.pairing.why}`,
    );
  if (header.allow_other_nodes === true)
    some.push("Ironic has nodes that this run did not load (--allow-other-nodes)");
  if (nova === null) some.push("Nova's rows are not in this plan, so apply requires --leave-nova");
  return some;
}

function changes({ counts, nova }: Judged): string {
  const { nodes, ports, verdicts } = counts;
  const rows = nova === null ? "" : ` and changes ${counted(stepsOf(nova.counts), "row")} of Nova`;
  const out =
    verdicts.skipped > 0 ? `; ${counted(verdicts.skipped, "machine")} excluded on purpose` : "";
  return `the plan creates ${counted(nodes, "node")} and ${counted(ports, "port")} in Ironic${rows}${out}. No machine is powered on or off, and no instance is deleted`;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
