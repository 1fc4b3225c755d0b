import type { ServerIdentity } from "../../model/artefact.ts";
import type { FindingCode } from "../../model/findings.ts";
import type { InstanceRow } from "../../model/nova-rows.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../model/plan.ts";
import { showColumn } from "../../model/text.ts";
import type { Choice } from "./choice.ts";
import type { ComputeFault } from "./computes.ts";
import { keepsInstance, namesNode } from "./keeps.ts";

export type OnNode = Pick<InstanceRow, "uuid" | "task_state">;

/** How Nova has machines and their instances now, by uuid in lower case. */
export interface TenantsNow {
  readonly instancesOf: (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;
  /** The server that compares what they name. */
  readonly nova: Pick<ServerIdentity, "engine">;
  /** Live instances that name these nodes. */
  readonly onNodes: (uuids: readonly string[]) => Promise<ReadonlyMap<string, readonly OnNode[]>>;
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
    const lines = batch.filter(isLoaded);
    tally.machines += lines.length;
    tally.instances += lines.filter((line) => instanceOn(line) !== null).length;
    const rows = await instancesOf(lines.flatMap((line) => instanceOn(line) ?? []));
    const there = await onNodes(lines.flatMap(({ uuid }) => uuid ?? []));
    for (const line of lines) {
      const { uuid: machine } = line;
      const uuid = instanceOn(line);
      const row = rows.get(uuid?.toLowerCase() ?? "");
      const faults =
        uuid === null ? [] : [...lifeFaults(line, row), ...placeFaults(line, row, choice, nova)];
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
  const uuid = nodeOf(records)?.instance_uuid;
  return typeof uuid === "string" ? uuid : null;
}

/** Whether the instance is there to be placed; what the operator accepted is not held against it. */
function lifeFaults(line: PlannedMachine, row: InstanceRow | undefined): readonly string[] {
  if (row === undefined) return accepted(line, "N2I-D201") ? [] : ["is not in nova"];
  return (row.deleted ?? 0) === 0 || accepted(line, "N2I-D202") ? [] : ["is deleted in nova"];
}

/** Whether it names the nova-compute that runs for its machine, and its machine. */
function placeFaults(
  line: PlannedMachine,
  row: InstanceRow | undefined,
  choice: Choice,
  nova: TenantsNow["nova"],
): readonly string[] {
  if (row === undefined || (row.deleted ?? 0) !== 0 || accepted(line, "N2I-D225")) return [];
  const { service_host, uuid } = line;
  const host = choice.of(line) ?? service_host;
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
  { records, findings, uuid }: PlannedMachine,
  there: ReadonlyMap<string, readonly OnNode[]>,
): readonly OnNode[] {
  if (findings.some(({ code }) => code === "N2I-D207")) return [];
  const node = nodeOf(records);
  return (there.get(uuid?.toLowerCase() ?? "") ?? []).filter(
    (other) => node !== undefined && !keepsInstance(node, other),
  );
}

export function accepted({ findings }: PlannedMachine, wanted: FindingCode): boolean {
  return findings.some((found) => found.code === wanted && found.accepted !== undefined);
}

/** A deployment in flight is one Nova is working on: one word stands for both. */
function isBusyAccepted(line: PlannedMachine): boolean {
  return accepted(line, "N2I-D206") || accepted(line, "N2I-D100");
}

/**
 * What Nova says by now of machines that are still to be loaded, and did not say when they were
 * planned. Rows that the plan changes are compared as such; these are the others: a machine that got
 * a tenant since would be loaded free, and given to the next one.
 *
 * @param loading whether the machine at this position of the plan is loaded for the first time
 */
export async function* changedTenants(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  loading: (position: number) => boolean,
  { instancesOf, onNodes, nova }: TenantsNow,
  choice: Choice,
): AsyncGenerator<string> {
  let from = 0;
  for await (const batch of machines) {
    const first = from;
    const lines = batch.filter(({ verdict }, at) => verdict === "create" && loading(first + at));
    from += batch.length;
    const there = await onNodes(lines.flatMap(({ uuid }) => uuid ?? []));
    const rows = await instancesOf(lines.flatMap((line) => instanceOn(line) ?? []));
    for (const line of lines) {
      const planned = instanceOn(line);
      const where = `bm_nodes.id=${line.bm_node_id}`;
      const row = rows.get(planned?.toLowerCase() ?? "");
      const kept = choice.of(line) === null;
      const busy = isBusyAccepted(line) ? null : (row?.task_state ?? null);
      const faults = [
        ...(planned === null ? [] : lifeFaults(line, row)),
        ...(kept ? placeFaults(line, row, choice, nova) : []),
        ...(busy === null ? [] : [`task_state is ${busy}`]),
      ];
      for (const fault of faults) yield `${where} instance ${planned} ${fault}`;
      for (const { uuid: other } of strangersOn(line, there))
        yield `${where} is planned with ${planned ?? "no instance"}, and instance ${other} is on it`;
    }
  }
}
