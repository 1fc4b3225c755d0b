import { textOrNull } from "../../../lib/json.ts";
import { showColumn } from "../../../lib/text.ts";
import type { ServerIdentity } from "../../../model/artefact.ts";
import type { FindingCode } from "../../../model/findings.ts";
import type { InstanceRow } from "../../../model/nova/nova-rows.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import type { Choice } from "./choice.ts";
import type { ComputeFault } from "./computes.ts";
import { keepsInstance, namesNode } from "./keeps-instance.ts";

export type OnNode = Pick<InstanceRow, "uuid" | "task_state">;

/** How Nova has machines and their instances now, by uuid in lower case. */
export interface TenantsNow {
  readonly instancesOf: (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;
  /** The server that compares what they name. */
  readonly nova: Pick<ServerIdentity, "engine">;
  /** Live instances that name these nodes. */
  readonly onNodes: (uuids: readonly string[]) => Promise<ReadonlyMap<string, readonly OnNode[]>>;
}

export interface Placed {
  /** Where it stands among the plan's machines. */
  readonly at: number;
  readonly bm_node_id: number;
  readonly uuid: string | null;
  /** The instance it is planned with. */
  readonly instance: string | null;
  /** The nova-compute that runs for it. */
  readonly host: string | null;
  /** No step of the plan gives its rows that host: they name it already. */
  readonly kept: boolean;
  /** Another live instance that names it is held against it: no plan reported one. */
  readonly alone: boolean;
  /** Codes of findings that the operator accepted, with a space between. */
  readonly accepted: string;
}

export function placedOf(line: PlannedMachine, at: number, choice: Choice): Placed {
  const { bm_node_id, uuid, service_host, records, findings } = line;
  const chosen = choice.of(line);
  const accepted = findings.flatMap((found) => (found.accepted === undefined ? [] : found.code));
  return {
    ...{ at, bm_node_id, uuid, instance: instanceOn(line) },
    ...{ host: chosen ?? service_host, kept: chosen === null },
    alone: nodeOf(records) !== undefined && !findings.some(({ code }) => code === "N2I-D207"),
    accepted: accepted.join(" "),
  };
}

/**
 * Looks at the instance of every machine that is to be loaded, whether the plan changes its row or
 * not: its host must be the one that runs for the machine, its node the machine, and no other live
 * instance may name that. What the operator accepted is not held against it.
 *
 * @param tally counts what was compared
 * @source facts/systems.md D-14
 */
export async function* auditInstances(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  { instancesOf, onNodes, nova }: TenantsNow,
  choice: Choice,
  tally: { machines: number; instances: number } = { machines: 0, instances: 0 },
): AsyncGenerator<ComputeFault> {
  for await (const batch of machines) {
    const lines = batch.filter(isLoaded).map((line, at) => placedOf(line, at, choice));
    tally.machines += lines.length;
    tally.instances += lines.filter(({ instance }) => instance !== null).length;
    const rows = await instancesOf(lines.flatMap(({ instance }) => instance ?? []));
    const there = await onNodes(lines.flatMap(({ uuid }) => uuid ?? []));
    for (const line of lines) {
      const { uuid: machine, instance: uuid } = line;
      const row = rows.get(uuid?.toLowerCase() ?? "");
      const faults =
        uuid === null ? [] : [...lifeFaults(line, row), ...placeFaults(line, row, nova)];
      for (const fault of faults) yield { machine, fault: `instance ${uuid}: ${fault}` };
      for (const { uuid: other, task_state } of strangersOn(line, there)) {
        const fault = `instance ${other}: names this node, which has another instance or none in Ironic`;
        yield { machine, fault, ...(task_state !== null && { moving: true }) };
      }
    }
  }
}

/** The instance a machine is planned with. */
export function instanceOn({ records }: PlannedMachine): string | null {
  return textOrNull(nodeOf(records)?.instance_uuid);
}

/** Whether the instance is there to be placed; what the operator accepted is not held against it. */
function lifeFaults(line: Placed, row: InstanceRow | undefined): readonly string[] {
  if (row === undefined) return accepted(line, "N2I-D201") ? [] : ["is not in nova"];
  return (row.deleted ?? 0) === 0 || accepted(line, "N2I-D202") ? [] : ["is deleted in nova"];
}

/** Whether it names the nova-compute that runs for its machine, and its machine. */
function placeFaults(
  line: Placed,
  row: InstanceRow | undefined,
  nova: TenantsNow["nova"],
): readonly string[] {
  if (row === undefined || (row.deleted ?? 0) !== 0 || accepted(line, "N2I-D225")) return [];
  const { host, uuid } = line;
  return [
    ...(row.host === host
      ? []
      : [`host is ${showColumn(row.host)}, should be ${showColumn(host)}`]),
    ...(namesNode(row.node, uuid, nova)
      ? []
      : [`node is ${showColumn(row.node)}, should be ${showColumn(uuid)}`]),
  ];
}

/** Live instances that name a machine as their node, and that no plan reported. */
function strangersOn(
  { uuid, instance, alone }: Placed,
  there: ReadonlyMap<string, readonly OnNode[]>,
): readonly OnNode[] {
  if (!alone) return [];
  const node = { instance_uuid: instance };
  return (there.get(uuid?.toLowerCase() ?? "") ?? []).filter(
    (other) => !keepsInstance(node, other),
  );
}

export function accepted(line: Placed, wanted: FindingCode): boolean {
  return line.accepted.split(" ").includes(wanted);
}

/**
 * What Nova says by now of machines that are still to be loaded, and did not say when they were
 * planned. Rows that the plan changes are compared as such; these are the others: a machine that got
 * a tenant since would be loaded free, and given to the next one.
 */
export async function* changedTenants(
  machines: Iterable<readonly Placed[]>,
  { instancesOf, onNodes, nova }: TenantsNow,
): AsyncGenerator<string> {
  for (const lines of machines) {
    const there = await onNodes(lines.flatMap(({ uuid }) => uuid ?? []));
    const rows = await instancesOf(lines.flatMap(({ instance }) => instance ?? []));
    for (const line of lines) {
      const { instance: planned } = line;
      const where = `bm_nodes.id=${line.bm_node_id}`;
      const row = rows.get(planned?.toLowerCase() ?? "");
      const busy =
        accepted(line, "N2I-D206") || accepted(line, "N2I-D100") ? null : (row?.task_state ?? null);
      const faults = [
        ...(planned === null ? [] : lifeFaults(line, row)),
        ...(line.kept ? placeFaults(line, row, nova) : []),
        ...(busy === null ? [] : [`task_state is ${busy}`]),
      ];
      for (const fault of faults) yield `${where} instance ${planned} ${fault}`;
      for (const { uuid: other } of strangersOn(line, there))
        yield `${where} is planned with ${planned ?? "no instance"}, and instance ${other} is on it`;
    }
  }
}
