import { textOrNull } from "../../../lib/json.ts";
import { showColumn } from "../../../lib/text.ts";
import type { FindingCode } from "../../../model/findings.ts";
import type { InstanceRow } from "../../../model/nova/nova-rows.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import { customClass } from "../../flavors/rules/flavors.ts";
import type { Choice } from "./choice.ts";
import type { ComputeFault, NovaNow } from "./computes.ts";
import { keepsInstance, namesNode } from "./gate.ts";

type OnNode = Pick<InstanceRow, "uuid" | "task_state">;

type TenantsNow = Pick<NovaNow, "instancesOf" | "onNodes" | "nova">;

export type Placed = ReturnType<typeof placedOf>;

/** @param at position among the plan's machines */
export function placedOf(line: PlannedMachine, at: number, choice: Choice) {
  const { bm_node_id, uuid, service_host, records, findings } = line;
  const chosen = choice.of(line);
  const accepted = findings.flatMap((found) => (found.accepted === undefined ? [] : found.code));
  return {
    ...{ at, bm_node_id, uuid, instance: instanceOn(line), host: chosen ?? service_host },
    /** The plan changes no rows, because they already name this host. */
    unchanged: chosen === null,
    /** A second live instance on the machine is a fault, because the plan reported none. */
    alone: nodeOf(records) !== undefined && !findings.some(({ code }) => code === "N2I-D207"),
    /** As a text, which needs less memory. */
    accepted: accepted.join(" "),
  };
}

/**
 * Checks the instance of every loaded machine, changed or not: its host must be the machine's, its
 * node the machine, and no other live instance may name that node. Accepted findings are ignored.
 * @source facts/systems.md D-14
 */
export async function* auditInstances(
  batch: readonly PlannedMachine[],
  { instancesOf, onNodes, nova }: TenantsNow,
  choice: Choice,
  tally: { machines: number; instances: number } = { machines: 0, instances: 0 },
): AsyncGenerator<ComputeFault> {
  const lines = batch.filter(isLoaded).map((line, at) => placedOf(line, at, choice));
  tally.machines += lines.length;
  tally.instances += lines.filter(({ instance }) => instance !== null).length;
  const rows = await instancesOf(lines.flatMap(({ instance }) => instance ?? []));
  const byNode = await onNodes(lines.flatMap(({ uuid }) => uuid ?? []));
  for (const line of lines) {
    const { uuid: machine, instance: uuid } = line;
    const row = rows.get(uuid?.toLowerCase() ?? "");
    const faults =
      uuid === null ? [] : [...lifeFaults(line, row), ...locationFaults(line, row, nova)];
    for (const fault of faults) yield { machine, fault: `instance ${uuid}: ${fault}` };
    for (const { uuid: other, task_state } of foreignInstancesOn(line, byNode)) {
      const fault = `instance ${other}: refers to this node, which has a different instance or none in Ironic`;
      yield { machine, fault, ...(task_state !== null && { moving: true }) };
    }
  }
}

export function instanceOn({ records }: PlannedMachine): string | null {
  return textOrNull(nodeOf(records)?.instance_uuid);
}

function lifeFaults(line: Placed, row: InstanceRow | undefined): readonly string[] {
  if (row === undefined) return accepted(line, "N2I-D201") ? [] : ["is not in nova"];
  return (row.deleted ?? 0) === 0 || accepted(line, "N2I-D202") ? [] : ["is deleted in nova"];
}

function locationFaults(
  line: Placed,
  row: InstanceRow | undefined,
  nova: TenantsNow["nova"],
): readonly string[] {
  if (row === undefined || (row.deleted ?? 0) !== 0 || accepted(line, "N2I-D225")) return [];
  const { host, uuid } = line;
  const faults: string[] = [];
  if (row.host !== host)
    faults.push(`host is ${showColumn(row.host)}, should be ${showColumn(host)}`);
  if (!namesNode(row.node, uuid, nova))
    faults.push(`node is ${showColumn(row.node)}, should be ${showColumn(uuid)}`);
  return faults;
}

function foreignInstancesOn(
  { uuid, instance, alone }: Placed,
  byNode: ReadonlyMap<string, readonly OnNode[]>,
): readonly OnNode[] {
  if (!alone) return [];
  const node = { instance_uuid: instance };
  return (byNode.get(uuid?.toLowerCase() ?? "") ?? []).filter(
    (other) => !keepsInstance(node, other),
  );
}

export function accepted(line: Placed, code: FindingCode): boolean {
  return line.accepted.split(" ").includes(code);
}

/**
 * Instance changes since the plan, of machines that are not loaded yet. Rows that the plan changes
 * are compared elsewhere. A machine that has since been given an instance would be loaded as available
 * and deployed again.
 */
export async function* changedTenants(
  lines: readonly Placed[],
  { instancesOf, onNodes, nova }: TenantsNow,
): AsyncGenerator<string> {
  const byNode = await onNodes(lines.flatMap(({ uuid }) => uuid ?? []));
  const rows = await instancesOf(lines.flatMap(({ instance }) => instance ?? []));
  for (const line of lines) {
    const { instance: planned } = line;
    const where = `bm_nodes.id=${line.bm_node_id}`;
    const row = rows.get(planned?.toLowerCase() ?? "");
    const busy =
      accepted(line, "N2I-D206") || accepted(line, "N2I-D100") ? null : (row?.task_state ?? null);
    const faults = [
      ...(planned === null ? [] : lifeFaults(line, row)),
      ...(line.unchanged ? locationFaults(line, row, nova) : []),
      ...(busy === null ? [] : [`task_state is ${busy}`]),
    ];
    for (const fault of faults) yield `${where} instance ${planned} ${fault}`;
    for (const { uuid: other } of foreignInstancesOn(line, byNode))
      yield `${where} is planned with ${planned ?? "no instance"}, and instance ${other} is on it`;
  }
}

/**
 * The commands that create a missing allocation. nova-compute reports reserved 1 for a node in use,
 * which prevents allocations. A host that is down gets no other instances.
 * @source facts/rehearsal.md 4, variant H2; each command run on Nova 26.2, Placement 8.0 and
 * osc-placement 4.0
 */
export function heal(machine: string | null = null, resource_class: string | null = null): string {
  const [node, custom] = [machine ?? "MACHINE", resource_class ?? "CUSTOM_CLASS"];
  return `stop nova-compute and wait for service_down_time (60 s); openstack resource provider inventory set ${node} --amend --resource ${custom}:reserved=0; nova-manage placement heal_allocations; start nova-compute`;
}

/** Live instances without an allocation, which nothing else reports. */
export async function* auditAllocations(
  batch: readonly PlannedMachine[],
  { instancesOf, allocatedOf }: Pick<NovaNow, "instancesOf" | "allocatedOf">,
) {
  if (allocatedOf === null) return;
  const lines = batch.filter(isLoaded);
  const uuids = lines.flatMap((line) => instanceOn(line) ?? []);
  const rows = await instancesOf(uuids);
  const allocated = await allocatedOf(uuids);
  for (const line of lines) {
    const instance = instanceOn(line)?.toLowerCase() ?? "";
    const row = rows.get(instance);
    if (row === undefined || (row.deleted ?? 0) !== 0 || allocated.has(instance)) continue;
    const name = textOrNull(nodeOf(line.records)?.resource_class);
    yield { machine: line.uuid, instance, resource_class: name && customClass(name) };
  }
}
