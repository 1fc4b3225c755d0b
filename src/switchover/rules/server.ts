import type { OwnedMachine, Tenant } from "../../model/nova/host-move.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import { requestText } from "../../model/nova/requests.ts";
import type { ServerPlace, SwitchedServer } from "./switching.ts";

/** Nova's rows of both nodes of a switchover. */
interface ServerRows {
  readonly source: OwnedMachine;
  readonly destination: OwnedMachine;
  /** `instances.compute_id`; absent where there is no such column. */
  readonly compute_id?: number | null;
}

/**
 * Where Nova's row of an instance goes, or what stands against that.
 *
 * @param instance its uuid, as Ironic has it
 */
export function serverIn(
  instance: string,
  { source, destination, compute_id }: ServerRows,
): { readonly server: Omit<SwitchedServer, "placement"> } | { readonly faults: readonly string[] } {
  const own = source.instances.find(({ uuid }) => uuid.toLowerCase() === instance.toLowerCase());
  const [compute, ...more] = destination.computes;
  const faults = [
    ...(own === undefined
      ? [`Nova has no live server ${instance} on node ${source.node}`]
      : serverFaults(own)),
    ...source.instances
      .filter((one) => one !== own)
      .map(({ uuid }) => `Nova has server ${uuid} on node ${source.node} too`),
    ...source.queued.map((one) => requestText(one, own?.host ?? "")),
    ...destination.instances.map(
      ({ uuid }) => `Nova has server ${uuid} on node ${destination.node}`,
    ),
    ...(compute === undefined || more.length > 0
      ? [
          `Nova has ${more.length + Number(compute !== undefined)} live compute nodes of node ${destination.node}, not one`,
        ]
      : []),
    ...(compute !== undefined && compute.hypervisor_type !== "ironic"
      ? [`its compute node is of ${String(compute.hypervisor_type)}`]
      : []),
    ...(compute !== undefined && compute.owner === null
      ? [`nothing says which nova-compute has compute_nodes.id=${compute.id}`]
      : []),
  ];
  if (faults.length > 0 || own === undefined || compute === undefined) return { faults };
  const from = { node: String(own.node), host: String(own.host) };
  const to = { node: String(compute.hypervisor_hostname), host: String(compute.owner) };
  const byId = compute_id !== undefined;
  return {
    server: {
      ...{ id: own.id, uuid: own.uuid, stopped: own.vm_state === "stopped" },
      from: byId ? { ...from, compute_id } : from,
      to: byId ? { ...to, compute_id: compute.id } : to,
    },
  };
}

/** States of a server whose machine may be exchanged under it. */
const MOVABLE: ReadonlySet<string | null> = new Set(["active", "stopped", "error"]);

function serverFaults({ uuid, task_state, vm_state, host }: Tenant): readonly string[] {
  return [
    ...(task_state === null ? [] : [`Nova has server ${uuid} in task_state ${task_state}`]),
    ...(MOVABLE.has(vm_state) ? [] : [`Nova has server ${uuid} in vm_state ${String(vm_state)}`]),
    ...(host === null ? [`server ${uuid} names no host`] : []),
  ];
}

/** Nova does nothing by itself to a server that migrates, and refuses most of what a tenant asks. */
const GUARD = "migrating";

/** What is changed of a server's row: its task_state before its machine is touched, its place, and back. */
export function serverSteps(server: SwitchedServer) {
  const { from, to } = server;
  return {
    hold: step(server, { ...from, task_state: null }, { ...from, task_state: GUARD }),
    rows: step(server, { ...from, task_state: GUARD }, { ...to, task_state: GUARD }),
    free: step(server, { ...to, task_state: GUARD }, { ...to, task_state: null }),
  };
}

/**
 * How `rows` is taken back, the likeliest first: a nova-compute that starts takes the guard off.
 *
 * @source nova@26.2.2:nova/compute/manager.py _init_instance
 */
export function serverBack(server: SwitchedServer): readonly NovaStep[] {
  const { from, to } = server;
  return [GUARD, null].map((task_state) =>
    step(server, { ...to, task_state }, { ...from, task_state }),
  );
}

type Row = ServerPlace & { readonly task_state: string | null };

function step({ id, uuid, from }: SwitchedServer, before: Row, after: Row): NovaStep {
  const common = { uuid, deleted: 0 };
  return {
    ...({ id: `instances:${id}`, part: "hosts", table: "instances", key: { id } } as const),
    before: { ...common, ...before },
    after: { ...common, ...after },
    ...{ machine: from.node, of: `instance ${uuid}` },
  };
}

export function inverse(change: NovaStep): NovaStep {
  return { ...change, before: change.after, after: change.before };
}
