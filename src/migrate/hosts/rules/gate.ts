import { showColumn } from "../../../lib/text.ts";
import type { ServerIdentity } from "../../../model/artefact.ts";
import { blocks, type Finding, finding, findingIf } from "../../../model/findings.ts";
import type { Machine, Row } from "../../../model/machine.ts";
import type { InstanceRow, MachineRows } from "../../../model/nova/nova-rows.ts";
import { requestText, taskStateText } from "../../../model/nova/requests.ts";
import { nodeOf } from "../../../model/plan.ts";
import { type Transformed, withAccepted } from "../../transform/transform.ts";

/** The nova-compute of a machine after the migration. */
interface Runs {
  readonly host: string | null;
  /** Nova has the service of its host, or the operator specified the host. */
  readonly isServed: boolean;
  /** Nothing else prevents the load of the machine. */
  readonly loads: boolean;
}

export type HostGate = ReturnType<typeof createGate>;

/**
 * Compares each instance with the nova-compute of its machine. Until Kilo, a nova-compute that
 * starts destroys instances of another host that its driver reports. Later ones do not manage these.
 * Until Mitaka, each nova-compute manages every node, so all machines need the host of the first.
 * @param clustered Nova of the target's release manages every node on each host
 * @param nova its server, which compares instances.node
 * @source facts/nova-bm.md 5.2, 5.3; facts/rehearsal.md 5
 */
export function createGate(clustered: boolean, nova: Pick<ServerIdentity, "engine">) {
  let only: string | null = null;
  /** @param location of a live instance in Nova after the plan */
  return (
    { node }: Machine,
    location: Pick<InstanceRow, "uuid" | "host" | "node">,
    runs: Runs,
  ): readonly Finding[] => {
    const where = `bm_nodes.id=${node.id} instance ${location.uuid}`;
    const spelt = same(location.node, node.uuid) ? ", and Ironic's uuid is in lower case" : "";
    const faults: string[] = [];
    if (location.host !== runs.host)
      faults.push(
        `instances.host will be ${showColumn(location.host)}, its nova-compute ${showColumn(runs.host)}`,
      );
    if (!runs.isServed) faults.push(`no live nova-compute is called ${showColumn(runs.host)}`);
    if (!namesNode(location.node, node.uuid, nova))
      faults.push(`instances.node will be ${showColumn(location.node)}${spelt}`);
    if (faults.length > 0) return [finding("N2I-D225", where, faults.join("; "))];
    if (runs.loads) only ??= runs.host;
    const apart = clustered && only !== null && runs.host !== only;
    const differ = `instances.host will be ${showColumn(location.host)}, that of others ${showColumn(only)}`;
    return findingIf(apart, "N2I-D227", where, differ);
  };
}

/** Evaluates a machine whose Nova rows the plan does not change, by those in the snapshot. */
export function judgeUnchanged(gate: HostGate, machine: Machine, made: Transformed): Transformed {
  const { nova, node } = machine;
  const instance = nova?.instance ?? null;
  if (nova === null || instance === null || instance.deleted) return made;
  if (!keepsInstance(nodeOf(made.desired), instance)) return made;
  const runs = { host: node.service_host, isServed: nova.service, loads: true };
  return withAccepted(made, gate(machine, instance, runs));
}

/**
 * Queued requests that a nova-compute would execute when it starts. A task_state also shows a queued
 * request while nova-compute is down, with or without instance_actions. The finding that blocks a
 * busy machine may be accepted alone, so both appear together.
 */
export function queuedOf(
  { node }: Machine,
  { instance, queued = [] }: MachineRows,
  findings: readonly Finding[],
): readonly Finding[] {
  if (instance === null || (instance.deleted ?? 0) !== 0 || instance.host === null) return [];
  const { host, uuid, task_state } = instance;
  const busy = findings.some((found) => found.code === "N2I-D206" && blocks(found));
  const texts = queued.map((request) => requestText(request, host));
  if (texts.length === 0 && busy && task_state !== null)
    texts.push(taskStateText(task_state, host));
  return texts.map((text) => finding("N2I-D243", `bm_nodes.id=${node.id} instance ${uuid}`, text));
}

/** Whether Ironic's node has this instance: bm_nodes names it, undisputed. */
export function keepsInstance(node: Row | undefined, { uuid }: { readonly uuid: string }): boolean {
  const instance = node?.instance_uuid;
  return typeof instance === "string" && same(instance, uuid);
}

/**
 * Whether Nova finds a machine by an instance's node. Ironic's UUIDs are lower case. MySQL's
 * collation ignores case, but other servers compare exactly.
 * @source facts/nova-bm.md 5.2
 */
export function namesNode(
  node: string | null,
  machine: string | null,
  { engine }: Pick<ServerIdentity, "engine">,
): boolean {
  if (engine === "mysql") return same(node, machine);
  return node === (machine?.toLowerCase() ?? null);
}

/** Compares UUIDs without case, because systems write them differently. */
export function same(one: string | null | undefined, other: string | null | undefined): boolean {
  return (one ?? null)?.toLowerCase() === (other ?? null)?.toLowerCase();
}
