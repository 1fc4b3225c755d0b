import { renderMachine } from "../../core/render/diff.ts";
import { MigrationError } from "../../model/error.ts";
import type { Json } from "../../model/json.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { SnapshotLine } from "../../stages/run.ts";
import { openShown, type Shown } from "../../stages/shown.ts";
import { io } from "../io.ts";
import type { ShowArgs } from "../options/show.ts";
import { printRows } from "../print/table.ts";
import { NOVA_COLUMNS, novaRows } from "./nova-rows.ts";
import { print } from "./shared.ts";

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
  const { file, diff, all } = args;
  const shown = await openShown(file, args.nova);
  if (diff !== undefined) {
    if (shown.kind !== "machines")
      throw new MigrationError(
        "N2I-E100",
        `--diff needs the machines of a plan, not ${WHAT[shown.kind]}`,
      );
    return printDiff(shown, diff, all);
  }
  switch (shown.kind) {
    case "snapshot":
      return printRows(io().stdout, SNAPSHOT_COLUMNS, snapshotRows(shown.lines()), args);
    case "machines":
      return printRows(io().stdout, PLAN_COLUMNS, planRows(shown.lines()), args);
    case "nova":
      return printRows(io().stdout, NOVA_COLUMNS, novaRows(shown), args);
  }
}

const WHAT = { snapshot: "a snapshot", nova: "rows of Nova" } as const;

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
export async function printDiff(
  { origins, lines }: Pick<Extract<Shown, { readonly kind: "machines" }>, "origins" | "lines">,
  node: string,
  all: boolean,
): Promise<void> {
  const wanted = node.toLowerCase();
  let found = false;
  for await (const batch of lines())
    for (const machine of batch) {
      if (
        wanted !== "" &&
        machine.uuid?.toLowerCase() !== wanted &&
        String(machine.bm_node_id) !== wanted
      )
        continue;
      found = true;
      print(renderMachine(machine, origins, all));
    }
  if (!found && wanted !== "")
    throw new MigrationError("N2I-E306", `${JSON.stringify(node)} is not in the plan`);
}
