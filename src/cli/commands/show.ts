import { renderMachine } from "../../core/render/diff.ts";
import { MigrationError } from "../../model/error.ts";
import type { Json } from "../../model/json.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { openNovaPlan } from "../../stages/nova-file.ts";
import { openPlan, openSnapshot, type SnapshotLine } from "../../stages/run.ts";
import { io } from "../io.ts";
import type { ShowArgs } from "../options/show.ts";
import { printRows } from "../print/table.ts";
import { NOVA_COLUMNS, novaRows } from "./nova-rows.ts";
import { print } from "./shared.ts";

type Plan = Awaited<ReturnType<typeof openPlan>>;

const PLAN_COLUMNS = [
  "BM ID",
  "UUID",
  "Service Host",
  "Verdict",
  "State",
  "Outcome",
  "Instance UUID",
  "Ports",
  "Findings",
  "Reason",
];
const SNAPSHOT_COLUMNS = [
  "BM ID",
  "UUID",
  "Service Host",
  "Task State",
  "Instance UUID",
  "CPUs",
  "Memory MB",
  "Local GB",
  "Interfaces",
  "Deleted",
  "Findings",
];

export async function showCommand(args: ShowArgs): Promise<void> {
  const nova = await orNull(() => openNovaPlan(args.file));
  if (nova !== null && args.diff === undefined)
    return printRows(io().stdout, NOVA_COLUMNS, novaRows(nova.lines()), args);
  if (nova !== null)
    throw new MigrationError("N2I-E100", `--diff needs a plan, and ${args.file} is one for Nova`);
  const plan = await orNull(() => openPlan(args.file));
  if (plan === null) {
    const snapshot = await openSnapshot(args.file);
    if (args.diff !== undefined)
      throw new MigrationError("N2I-E100", `--diff needs a plan, and ${args.file} is a snapshot`);
    return printRows(io().stdout, SNAPSHOT_COLUMNS, snapshotRows(snapshot.lines()), args);
  }
  if (args.diff === undefined)
    return printRows(io().stdout, PLAN_COLUMNS, planRows(plan.lines()), args);
  await printDiff(plan, args.diff, args.all);
}

/** Null for an artefact of another kind. */
function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  return work().catch((error: unknown) => {
    if (error instanceof MigrationError && error.code === "N2I-E113") return null;
    throw error;
  });
}

function findings({
  findings: found,
}: {
  readonly findings: readonly { readonly code: string }[];
}): string {
  return [...new Set(found.map(({ code }) => code))].join(" ");
}

async function* planRows(
  lines: AsyncIterable<readonly PlannedMachine[]>,
): AsyncGenerator<readonly Json[]> {
  for await (const batch of lines)
    for (const machine of batch) {
      const { bm_node_id, uuid, service_host, verdict, state, records, reason } = machine;
      const node = records.find(({ resource }) => resource === "node");
      const ports = records.filter(({ resource }) => resource === "port").length;
      yield [
        bm_node_id,
        uuid,
        service_host,
        verdict,
        state.row,
        state.outcome,
        node?.row.instance_uuid ?? null,
        ports,
        findings(machine),
        reason,
      ];
    }
}

async function* snapshotRows(
  lines: AsyncIterable<readonly SnapshotLine[]>,
): AsyncGenerator<readonly Json[]> {
  for await (const batch of lines)
    for (const line of batch) {
      if ("orphan" in line) {
        yield [
          line.orphan.bm_node_id,
          null,
          null,
          null,
          null,
          null,
          null,
          null,
          1,
          line.orphan.deleted,
          line.finding.code,
        ];
        continue;
      }
      const { node, interfaces } = line;
      yield [
        node.id,
        node.uuid,
        node.service_host,
        node.task_state,
        node.instance_uuid,
        node.cpus,
        node.memory_mb,
        node.local_gb,
        interfaces.length,
        node.deleted,
        findings(line),
      ];
    }
}

/**
 * Prints the diff of the machine named by uuid or bm_nodes.id, or of every machine for "".
 *
 * @throws MigrationError N2I-E306 when the plan has no such machine
 */
export async function printDiff(plan: Plan, node: string, all: boolean): Promise<void> {
  const wanted = node.toLowerCase();
  let found = false;
  for await (const batch of plan.lines())
    for (const machine of batch) {
      if (
        wanted !== "" &&
        machine.uuid?.toLowerCase() !== wanted &&
        String(machine.bm_node_id) !== wanted
      )
        continue;
      found = true;
      print(renderMachine(machine, plan.header.origins, all));
    }
  if (!found && wanted !== "")
    throw new MigrationError("N2I-E306", `${JSON.stringify(node)} is not in the plan`);
}
