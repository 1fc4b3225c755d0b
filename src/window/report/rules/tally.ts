import { counted } from "../../../lib/text.ts";
import type { PlanCounts, PlanHeader } from "../../../model/artefact.ts";
import { blocks, FINDINGS, type FindingCode, type Severity } from "../../../model/findings.ts";
import { type NovaPlanCounts, stepsOf } from "../../../model/nova/nova-plan.ts";
import { isLoaded, type PlannedMachine } from "../../../model/plan.ts";

/** Reasons to list separately. A site document has only a few. */
const REASONS = 100;
const RANK = { blocks: 0, warning: 1, note: 2 } as const;

/** An accepted finding with the operator's reason. */
interface AcceptedGroup {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly reason: string;
  machines: number;
}

/** Counts machines in a stream. Memory depends on codes, hosts and reasons, not on machines. */
export function createTotals() {
  const found = new Map<FindingCode, ReturnType<typeof newGroup>>();
  const accepted = new Map<string, AcceptedGroup>();
  const skipped = new Map<string, number>();
  const hosts = new Map<string | null, ReturnType<typeof newHost>>();
  let risky = 0;
  return {
    add(machine: PlannedMachine): void {
      const { verdict, service_host: host, reason } = machine;
      const group = hosts.get(host) ?? newHost(host);
      group.machines += 1;
      group.verdicts[verdict] += 1;
      hosts.set(host, group);
      if (verdict === "skipped") count(skipped, reason ?? "");
      addFindings(machine, found);
      addAccepted(machine, accepted);
      // Only an acceptance prevents that it is blocked.
      const isRisky = machine.findings.some(
        ({ severity, accepted }) => severity === "blocks" && accepted !== undefined,
      );
      if (isLoaded(machine) && isRisky) risky += 1;
    },
    /** @param counts of the plan, which include findings without a machine */
    end: (counts: PlanCounts) => ({
      found: foundGroups(found, counts),
      accepted: [...accepted.values()].toSorted(
        (one, other) => RANK[one.severity] - RANK[other.severity] || other.machines - one.machines,
      ),
      skipped: [...skipped]
        .map(([reason, machines]) => ({ reason, machines }))
        .toSorted((one, other) => other.machines - one.machines),
      hosts: [...hosts.values()].toSorted((one, other) => order(one.host ?? "", other.host ?? "")),
      /** Machines that are loaded because a blocking finding was accepted. */
      risky,
    }),
  };
}

function newHost(host: string | null) {
  const verdicts = { create: 0, unchanged: 0, drift: 0, conflict: 0, blocked: 0, skipped: 0 };
  return { host, machines: 0, verdicts };
}

function count(counts: Map<string, number>, key: string): void {
  const bucket = counts.has(key) || counts.size < REASONS ? key : "other reasons";
  counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
}

function addFindings(
  { uuid, bm_node_id, verdict, findings }: PlannedMachine,
  found: Map<FindingCode, ReturnType<typeof newGroup>>,
): void {
  for (const code of new Set(findings.map((one) => one.code))) {
    const group = found.get(code) ?? newGroup(code);
    const matching = findings.filter((one) => one.code === code);
    const accepted = matching.every((one) => one.accepted !== undefined);
    // Skipped machines need no action.
    const open = !accepted && verdict !== "skipped";
    group.machines += 1;
    group.times += matching.length;
    if (open) group.open += 1;
    if (accepted) group.accepted += 1;
    if (open && group.examples.length < 3) group.examples.push(uuid ?? `bm_nodes.id=${bm_node_id}`);
    found.set(code, group);
  }
}

function newGroup(code: FindingCode) {
  return {
    ...{ code, severity: FINDINGS[code].severity, machines: 0, accepted: 0, times: 0 },
    /** Machines that are not skipped, without an acceptance. */
    open: 0,
    /** Number of findings without a machine. */
    elsewhere: 0,
    /** UUIDs of the first open machines. */
    examples: [] as string[],
  };
}

function addAccepted({ findings }: PlannedMachine, accepted: Map<string, AcceptedGroup>): void {
  const unique = new Map(
    findings
      .filter((one) => !blocks(one) && one.accepted !== undefined)
      .map((one) => [JSON.stringify([one.code, one.accepted]), one]),
  );
  for (const [key, { code, severity, accepted: reason = "" }] of unique) {
    const group = accepted.get(key) ?? { code, severity, reason, machines: 0 };
    if (!accepted.has(key) && accepted.size >= REASONS) continue;
    group.machines += 1;
    accepted.set(key, group);
  }
}

/** Worst first. The plan's count also includes findings without a machine. */
function foundGroups(
  found: ReadonlyMap<FindingCode, ReturnType<typeof newGroup>>,
  { findings }: PlanCounts,
) {
  return Object.entries(findings)
    .map(([name, times]) => {
      const code = name as FindingCode; // the plan was checked by its digest
      const { times: ofMachines, ...group } = found.get(code) ?? newGroup(code);
      return { ...group, elsewhere: Math.max(0, times - ofMachines) };
    })
    .toSorted(
      (one, other) =>
        RANK[one.severity] - RANK[other.severity] ||
        other.open - one.open ||
        order(one.code, other.code),
    );
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

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
  readonly totals: ReturnType<ReturnType<typeof createTotals>["end"]>;
  readonly nova: { readonly counts: NovaPlanCounts } | null;
  /** The plan was made from the run's snapshot. */
  readonly fresh: boolean;
  readonly status: CurrentState;
}

/** Whether the plan can be applied: one sentence with numbers, and further facts. */
export function judge(judged: Judged): {
  readonly level: "ready" | "risks" | "not-ready";
  readonly title: string;
  readonly lines: readonly string[];
} {
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
