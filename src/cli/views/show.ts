import { type Columns, type View, viewOf } from "../../lib/table/table.ts";
import { acceptedOf, causeOf } from "../../migrate/plan/rules/summary.ts";
import type { Finding } from "../../model/findings.ts";
import type { SnapshotLine } from "../../model/machine.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";

type Batches<T> = AsyncIterable<readonly T[]>;

const MACHINE: Columns<PlannedMachine> = {
  "BM ID": ({ bm_node_id }) => bm_node_id,
  UUID: ({ uuid }) => uuid,
  "Service Host": ({ service_host }) => service_host,
  Verdict: ({ verdict }) => verdict,
  State: ({ state }) => state.row,
  Outcome: ({ state }) => state.outcome,
  "Instance UUID": ({ records }) =>
    records.find(({ resource }) => resource === "node")?.row.instance_uuid ?? null,
  Ports: ({ records }) => records.filter(({ resource }) => resource === "port").length,
  Findings: codesOf,
  Reason: ({ reason }) => reason,
  Accepted: (machine) => codesOf({ findings: acceptedOf(machine) }),
  Cause: causeOf,
};

/** Default columns of data formats, which stay stable. */
const MACHINE_DATA = Object.keys(MACHINE).slice(0, -2);

const SNAPSHOT: Columns<SnapshotLine> = {
  "BM ID": (line) => ("orphan" in line ? line.orphan.bm_node_id : line.node.id),
  UUID: (line) => nodeOf(line)?.uuid ?? null,
  "Service Host": (line) => nodeOf(line)?.service_host ?? null,
  "Task State": (line) => nodeOf(line)?.task_state ?? null,
  "Instance UUID": (line) => nodeOf(line)?.instance_uuid ?? null,
  CPUs: (line) => nodeOf(line)?.cpus ?? null,
  "Memory MB": (line) => nodeOf(line)?.memory_mb ?? null,
  "Local GB": (line) => nodeOf(line)?.local_gb ?? null,
  Interfaces: (line) => ("orphan" in line ? 1 : line.interfaces.length),
  Deleted: (line) => ("orphan" in line ? line.orphan : line.node).deleted,
  Findings: (line) => ("orphan" in line ? line.finding.code : codesOf(line)),
};

export async function* each<T>(batches: Batches<T>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch;
}

export function machinesView(machines: Batches<PlannedMachine>): View {
  const brief = MACHINE_DATA;
  return {
    ...viewOf(MACHINE, each(machines)),
    ...{ brief, data: brief, causes: ["Verdict", "Cause", "Accepted"] },
  };
}

export function snapshotView(lines: Batches<SnapshotLine>): View {
  return { ...viewOf(SNAPSHOT, each(lines)), causes: ["Task State", "Findings"] };
}

export function novaStepsView(steps: Batches<NovaStep>, findings: Batches<Finding>): View {
  async function* rows() {
    for await (const step of each(steps))
      yield [step.part, step.id, kindOf(step), step.of, step.machine, changeOf(step)];
    for await (const { code, place, message, severity } of each(findings))
      yield [severity, place, code, message, null, null];
  }
  return {
    columns: ["Part", "Row", "Change", "Of", "Machine", "Fields"],
    rows: rows(),
    causes: ["Part", "Change"],
  };
}

function nodeOf(line: SnapshotLine) {
  return "orphan" in line ? null : line.node;
}

function codesOf({ findings }: { readonly findings: readonly { readonly code: string }[] }) {
  return [...new Set(findings.map(({ code }) => code))].join(" ");
}

function kindOf({ before, after }: NovaStep): string {
  return before === null ? "create" : after === null ? "delete" : "update";
}

/** Changed columns of a step: `host: "h1" -> "h2"`. */
function changeOf({ before, after }: NovaStep): string {
  const row = after ?? before ?? {};
  return Object.keys(row)
    .filter((column) => before === null || after === null || before[column] !== after[column])
    .map((column) => {
      const side = (of: typeof before) => JSON.stringify(of?.[column] ?? null);
      if (before === null) return `${column}: ${side(after)}`;
      return `${column}: ${side(before)} -> ${side(after)}`;
    })
    .join(", ");
}
