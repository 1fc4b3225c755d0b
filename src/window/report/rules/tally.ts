import type { PlanCounts } from "../../../model/artefact.ts";
import { blocks, FINDINGS, type FindingCode } from "../../../model/findings.ts";
import { isLoaded, type PlannedMachine } from "../../../model/plan.ts";
import type { AcceptedGroup, FoundGroup, Totals } from "./facts.ts";

/** At most this many machines of a group are named. */
const EXAMPLES = 3;
/** Reasons to list separately. A site document has only a few. */
const REASONS = 100;
const OTHER = "other reasons";
const RANK = { blocks: 0, warning: 1, note: 2 } as const;

type Mutable<T> = { -readonly [key in keyof T]: T[key] };
type Group = Mutable<FoundGroup> & { examples: string[]; times: number };

/** Counts machines in a stream. Memory depends on codes, hosts and reasons, not on machines. */
export function createTotals() {
  const found = new Map<FindingCode, Group>();
  const accepted = new Map<string, Mutable<AcceptedGroup>>();
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
    end: (counts: PlanCounts): Totals => ({
      found: foundGroups(found, counts),
      accepted: [...accepted.values()].toSorted(
        (one, other) => RANK[one.severity] - RANK[other.severity] || other.machines - one.machines,
      ),
      skipped: [...skipped]
        .map(([reason, machines]) => ({ reason, machines }))
        .toSorted((one, other) => other.machines - one.machines),
      hosts: [...hosts.values()].toSorted((one, other) => order(one.host ?? "", other.host ?? "")),
      risky,
    }),
  };
}

function newHost(host: string | null) {
  const verdicts = { create: 0, unchanged: 0, drift: 0, conflict: 0, blocked: 0, skipped: 0 };
  return { host, machines: 0, verdicts };
}

function count(counts: Map<string, number>, key: string): void {
  const bucket = counts.has(key) || counts.size < REASONS ? key : OTHER;
  counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
}

function addFindings(
  { uuid, bm_node_id, verdict, findings }: PlannedMachine,
  found: Map<FindingCode, Group>,
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
    if (open && group.examples.length < EXAMPLES)
      group.examples.push(uuid ?? `bm_nodes.id=${bm_node_id}`);
    found.set(code, group);
  }
}

function newGroup(code: FindingCode): Group {
  const counts = { machines: 0, open: 0, accepted: 0, elsewhere: 0, times: 0 };
  return { code, severity: FINDINGS[code].severity, ...counts, examples: [] };
}

function addAccepted(
  { findings }: PlannedMachine,
  accepted: Map<string, Mutable<AcceptedGroup>>,
): void {
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
  found: ReadonlyMap<FindingCode, Group>,
  { findings }: PlanCounts,
): readonly FoundGroup[] {
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
