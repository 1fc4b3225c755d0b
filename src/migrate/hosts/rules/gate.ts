import { showColumn } from "../../../lib/text.ts";
import type { ServerIdentity } from "../../../model/artefact.ts";
import {
  type Acceptance,
  accept,
  blocks,
  type Finding,
  finding,
  findingIf,
} from "../../../model/findings.ts";
import type { Machine } from "../../../model/machine.ts";
import type { MachineRows } from "../../../model/nova/nova-rows.ts";
import { requestText, taskStateText } from "../../../model/nova/requests.ts";
import { nodeOf } from "../../../model/plan.ts";
import { type Transformed, withFindings } from "../../transform/transform.ts";
import { keepsInstance, namesNode, same } from "./keeps-instance.ts";

/** The location of a live instance in Nova after the plan. */
export interface InstanceLocation {
  readonly uuid: string;
  readonly host: string | null;
  readonly node: string | null;
}

/** The nova-compute of a machine after the migration. */
interface Runs {
  readonly host: string | null;
  /** Nova has the service of its host, or the operator specified the host. */
  readonly isServed: boolean;
  /** Nothing else prevents the load of the machine. */
  readonly loads: boolean;
}

/** Findings of a machine about the compute host of its instance. */
export type HostGate = (
  machine: Machine,
  location: InstanceLocation,
  runs: Runs,
) => readonly Finding[];

/**
 * Compares each instance with the nova-compute of its machine. Until Kilo, a nova-compute that
 * starts destroys instances of another host that its driver reports. Later ones do not manage these.
 * Until Mitaka, each nova-compute manages every node, so all machines need the host of the first.
 * @param clustered Nova of the target's release manages every node on each host
 * @param nova its server, which compares instances.node
 * @source facts/nova-bm.md 5.2, 5.3; facts/rehearsal.md 5
 */
export function createGate(clustered: boolean, nova: Pick<ServerIdentity, "engine">): HostGate {
  let only: string | null = null;
  return ({ node }, location, runs) => {
    const where = `bm_nodes.id=${node.id} instance ${location.uuid}`;
    const spelt = same(location.node, node.uuid) ? ", and Ironic's uuid is in lower case" : "";
    const faults = [
      ...(location.host === runs.host
        ? []
        : [
            `instances.host will be ${showColumn(location.host)}, its nova-compute ${showColumn(runs.host)}`,
          ]),
      ...(runs.isServed ? [] : [`no live nova-compute is called ${showColumn(runs.host)}`]),
      ...(namesNode(location.node, node.uuid, nova)
        ? []
        : [`instances.node will be ${showColumn(location.node)}${spelt}`]),
    ];
    if (faults.length > 0) return [finding("N2I-D225", where, faults.join("; "))];
    if (runs.loads) only ??= runs.host;
    const apart = clustered && only !== null && runs.host !== only;
    const differ = `instances.host will be ${showColumn(location.host)}, that of others ${showColumn(only)}`;
    return findingIf(apart, "N2I-D227", where, differ);
  };
}

/** Evaluates machines whose Nova rows the plan does not change. */
export function unchangedHosts(
  gate: HostGate,
  acceptances: (machine: Machine) => readonly Acceptance[],
): (machine: Machine, made: Transformed) => Transformed {
  return (machine, made) => {
    const { nova, node } = machine;
    const instance = nova?.instance ?? null;
    if (nova === null || instance === null || instance.deleted) return made;
    if (!keepsInstance(nodeOf(made.desired), instance)) return made;
    const runs = { host: node.service_host, isServed: nova.service, loads: true };
    const found = gate(machine, instance, runs);
    return found.length === 0 ? made : judged(made, found, acceptances(machine));
  };
}

export function judged(
  made: Transformed,
  found: readonly Finding[],
  acceptances: readonly Acceptance[],
): Transformed {
  return withFindings(made, accept(found, acceptances));
}

/** Queued requests that a nova-compute would execute when it starts. */
export function queuedIn(
  { node }: Machine,
  { instance, queued = [] }: MachineRows,
): readonly Finding[] {
  if (instance === null || (instance.deleted ?? 0) !== 0 || instance.host === null) return [];
  const { host, uuid } = instance;
  return queued.map((request) =>
    finding("N2I-D243", `bm_nodes.id=${node.id} instance ${uuid}`, requestText(request, host)),
  );
}

/**
 * As `queuedIn`, for a machine that is already blocked, so that all findings appear together. A
 * task_state also shows a queued request while nova-compute is down, with or without
 * instance_actions. The blocking finding may be accepted alone.
 */
export function queuedOf(
  machine: Machine,
  rows: MachineRows,
  findings: readonly Finding[],
): readonly Finding[] {
  const queue = queuedIn(machine, rows);
  const busy = findings.some((found) => found.code === "N2I-D206" && blocks(found));
  const { instance } = rows;
  if (queue.length > 0 || !busy || instance === null || (instance.deleted ?? 0) !== 0) return queue;
  const { host, uuid, task_state } = instance;
  if (host === null || task_state === null) return [];
  const where = `bm_nodes.id=${machine.node.id} instance ${uuid}`;
  return [finding("N2I-D243", where, taskStateText(task_state, host))];
}
