import { type View, viewer } from "../../lib/table/table.ts";
import { acceptedOf, causeOf } from "../../migrate/plan/rules/summary.ts";
import type { Finding } from "../../model/findings.ts";
import type { SnapshotLine } from "../../model/machine.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";

type Batches<T> = AsyncIterable<readonly T[]>;

/** Default columns, which stay stable in data formats. */
const MACHINE = [
  ...["BM ID", "UUID", "Service Host", "Verdict", "State", "Outcome", "Instance UUID", "Ports"],
  ...["Findings", "Reason"],
];

export const machinesView = viewer<PlannedMachine>(
  {
    "BM ID": "bm_node_id",
    UUID: "uuid",
    "Service Host": "service_host",
    Verdict: "verdict",
    State: ({ state }) => state.row,
    Outcome: ({ state }) => state.outcome,
    "Instance UUID": ({ records }) =>
      records.find(({ resource }) => resource === "node")?.row.instance_uuid ?? null,
    Ports: ({ records }) => records.filter(({ resource }) => resource === "port").length,
    Findings: codesOf,
    Reason: "reason",
    Accepted: (machine) => codesOf({ findings: acceptedOf(machine) }),
    Cause: causeOf,
  },
  { brief: MACHINE, data: MACHINE, causes: ["Verdict", "Cause", "Accepted"] },
);

export const snapshotView = viewer<SnapshotLine>(
  {
    "BM ID": (line) => ("orphan" in line ? line.orphan.bm_node_id : line.node.id),
    UUID: ofNode("uuid"),
    "Service Host": ofNode("service_host"),
    "Task State": ofNode("task_state"),
    "Instance UUID": ofNode("instance_uuid"),
    CPUs: ofNode("cpus"),
    "Memory MB": ofNode("memory_mb"),
    "Local GB": ofNode("local_gb"),
    Interfaces: (line) => ("orphan" in line ? 1 : line.interfaces.length),
    Deleted: (line) => ("orphan" in line ? line.orphan : line.node).deleted,
    Findings: (line) => ("orphan" in line ? line.finding.code : codesOf(line)),
  },
  { causes: ["Task State", "Findings"] },
);

function ofNode(
  column:
    | "uuid"
    | "service_host"
    | "task_state"
    | "instance_uuid"
    | "cpus"
    | "memory_mb"
    | "local_gb",
) {
  return (line: SnapshotLine) => ("orphan" in line ? null : (line.node[column] ?? null));
}

export async function* each<T>(batches: Batches<T>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch;
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
