import { counted } from "../../../lib/text.ts";
import type { PlanCounts, PlanHeader } from "../../../model/artefact.ts";
import { FINDINGS, type FindingCode } from "../../../model/findings.ts";
import { type NovaPlanCounts, stepsOf } from "../../../model/nova/nova-plan.ts";
import { isLoaded, type PlannedMachine } from "../../../model/plan.ts";

/** Reasons to list separately. A site document has only a few. */
const REASONS = 100;
const RANK = { blocks: 0, warning: 1, note: 2 } as const;

/** Counts machines in a stream. Memory depends on codes, hosts and reasons, not on machines. */
export function createTotals() {
  const found = new Map<FindingCode, ReturnType<typeof newGroup>>();
  const accepted = new Map<string, ReturnType<typeof newAccepted>>();
  const skipped = new Map<string, { readonly reason: string; machines: number }>();
  const hosts = new Map<string | null, ReturnType<typeof newHost>>();
  let risky = 0;
  const addFinding = (code: FindingCode, machine: PlannedMachine): void => {
    const group = entryOf(found, code, newGroup);
    const matching = machine.findings.filter((one) => one.code === code);
    const isAccepted = matching.every((one) => one.accepted !== undefined);
    group.machines += 1;
    group.times += matching.length;
    if (isAccepted) group.accepted += 1;
    // Skipped machines need no action.
    if (isAccepted || machine.verdict === "skipped") return;
    group.open += 1;
    const { uuid, bm_node_id } = machine;
    if (group.examples.length < 3) group.examples.push(uuid ?? `bm_nodes.id=${bm_node_id}`);
  };
  return {
    add(machine: PlannedMachine): void {
      const { verdict, service_host, reason, findings } = machine;
      const host = entryOf(hosts, service_host, newHost);
      host.machines += 1;
      host.verdicts[verdict] += 1;
      if (verdict === "skipped") {
        const isListed = skipped.has(reason ?? "") || skipped.size < REASONS;
        const bucket = isListed ? (reason ?? "") : "other reasons";
        entryOf(skipped, bucket, () => ({ reason: bucket, machines: 0 })).machines += 1;
      }
      for (const code of new Set(findings.map((one) => one.code))) addFinding(code, machine);
      const reasons = findings.filter((one) => one.accepted !== undefined);
      for (const key of new Set(reasons.map((one) => JSON.stringify([one.code, one.accepted]))))
        if (accepted.has(key) || accepted.size < REASONS)
          entryOf(accepted, key, newAccepted).machines += 1;
      // Only an acceptance prevents that it is blocked.
      if (isLoaded(machine) && reasons.some(({ severity }) => severity === "blocks")) risky += 1;
    },
    /** @param counts of the plan, which include findings without a machine */
    end: (counts: PlanCounts) => ({
      /** Worst first. */
      found: Object.entries(counts.findings)
        .map(([name, times]) => {
          const code = name as FindingCode; // the plan was checked by its digest
          const { times: ofMachines, ...group } = found.get(code) ?? newGroup(code);
          return { ...group, elsewhere: Math.max(0, times - ofMachines) };
        })
        .toSorted(
          (one, other) =>
            byRank(one, other) || other.open - one.open || order(one.code, other.code),
        ),
      accepted: [...accepted.values()].toSorted(
        (one, other) => byRank(one, other) || other.machines - one.machines,
      ),
      skipped: [...skipped.values()].toSorted((one, other) => other.machines - one.machines),
      hosts: [...hosts.values()].toSorted((one, other) => order(one.host ?? "", other.host ?? "")),
      /** Machines that are loaded because a blocking finding was accepted. */
      risky,
    }),
  };
}

function entryOf<K, V>(entries: Map<K, V>, key: K, make: (key: K) => V): V {
  const entry = entries.get(key) ?? make(key);
  entries.set(key, entry);
  return entry;
}

function newHost(host: string | null) {
  const verdicts = { create: 0, unchanged: 0, drift: 0, conflict: 0, blocked: 0, skipped: 0 };
  return { host, machines: 0, verdicts };
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

/** An accepted finding with the operator's reason. */
function newAccepted(key: string) {
  const [code, reason] = JSON.parse(key) as [FindingCode, string]; // as it was added
  return { code, reason, severity: FINDINGS[code].severity, machines: 0 };
}

type Ranked = Pick<ReturnType<typeof newGroup>, "severity">;

function byRank(one: Ranked, other: Ranked): number {
  return RANK[one.severity] - RANK[other.severity];
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
export function judge({ header, counts, totals, nova, fresh, status }: Judged): {
  readonly level: "ready" | "risks" | "not-ready";
  readonly title: string;
  readonly lines: readonly string[];
} {
  const { verdicts, nodes, ports } = counts;
  const unloaded = verdicts.blocked + verdicts.conflict;
  const loads = verdicts.create + verdicts.unchanged + verdicts.drift;
  const machines = `${counted(loads, "machine")} of ${counts.machines}`;
  const stops = textsOf([
    [!fresh, "the plan was made from a snapshot other than the one in this run"],
    [
      unloaded > 0,
      `${unloaded} of ${counted(counts.machines, "machine")} cannot be loaded as they are`,
    ],
    [loads === 0, "the plan loads no machine"],
  ]);
  const risks = textsOf([
    [
      totals.risky > 0,
      `${counted(totals.risky, "machine is", "machines are")} loaded only because the site document accepts a blocking finding`,
    ],
    [
      verdicts.drift > 0,
      `${counted(verdicts.drift, "machine")} changed after the load, and will not be modified`,
    ],
    [
      header.pairing.allowed === "override",
      `Nova and Ironic have releases that do not match (--allow-pairing): ${header.pairing.why}`,
    ],
    [
      header.allow_other_nodes === true,
      "Ironic has nodes that this run did not load (--allow-other-nodes)",
    ],
    [nova === null, "Nova's rows are not in this plan, so apply requires --leave-nova"],
  ]);
  const rows = nova === null ? "" : ` and changes ${counted(stepsOf(nova.counts), "row")} of Nova`;
  const out =
    verdicts.skipped > 0 ? `; ${counted(verdicts.skipped, "machine")} excluded on purpose` : "";
  const changes = `the plan creates ${counted(nodes, "node")} and ${counted(ports, "port")} in Ironic${rows}${out}. No machine is powered on or off, and no instance is deleted`;
  const lines = [...stops, ...risks, changes].map(
    (text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`,
  );
  const level = stops.length + risks.length > 0 ? "risks" : "ready";
  if (status.load !== "none") {
    const done = status.load === "whole" && status.staged === 0 && status.ended;
    const are = `${machines} ${loads === 1 ? "is" : "are"} in Ironic, according to the journal`;
    return { level: done ? level : "risks", title: loadedTitle(status, are), lines };
  }
  const [stop] = stops;
  if (stop !== undefined)
    return { level: "not-ready", title: `Not ready: ${stop}.`, lines: lines.slice(1) };
  const ready = level === "risks" ? "Ready with accepted risks" : "Ready";
  return { level, title: `${ready}: ${machines} can be loaded.`, lines };
}

function textsOf(facts: readonly (readonly [boolean, string])[]): readonly string[] {
  return facts.flatMap(([holds, text]) => (holds ? [text] : []));
}

function loadedTitle({ load, staged, verified, ended }: CurrentState, are: string): string {
  if (load === "part")
    return "Partly loaded: according to the journal, not all of the plan is in Ironic and Nova. Continue with apply, or roll back.";
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
