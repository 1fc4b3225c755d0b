import { invert } from "../../model/change.ts";
import type { OwnedMachine, Tenant } from "../../model/nova/host-move.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import { requestText } from "../../model/nova/requests.ts";
import type { ServerLocation, SwitchedServer } from "./switching.ts";

/**
 * Nova's row and its new location, or the reasons against it.
 *
 * @param instance uuid in Ironic
 * @param compute_id of the instance; undefined: no such column
 */
export function serverIn(
  instance: string,
  source: OwnedMachine,
  destination: OwnedMachine,
  compute_id: number | null | undefined,
): { readonly server: Omit<SwitchedServer, "placement"> } | { readonly faults: readonly string[] } {
  const tenant = source.instances.find(({ uuid }) => uuid.toLowerCase() === instance.toLowerCase());
  const [compute, ...more] = destination.computes;
  const faults = [
    ...(tenant === undefined
      ? [`Nova has no live server ${instance} on node ${source.node}`]
      : serverFaults(tenant)),
    ...source.instances
      .filter((one) => one !== tenant)
      .map(({ uuid }) => `Nova also has server ${uuid} on node ${source.node}`),
    ...source.queued.map((one) => requestText(one, tenant?.host ?? "")),
    ...destination.instances.map(
      ({ uuid }) => `Nova has server ${uuid} on node ${destination.node}`,
    ),
    ...(compute === undefined || more.length > 0
      ? [
          `Nova has ${more.length + Number(compute !== undefined)} live compute nodes of node ${destination.node}, not one`,
        ]
      : []),
    ...(compute !== undefined && compute.hypervisor_type !== "ironic"
      ? [`its compute node has hypervisor_type ${String(compute.hypervisor_type)}`]
      : []),
    ...(compute !== undefined && compute.owner === null
      ? [`the nova-compute of compute_nodes.id=${compute.id} is unknown`]
      : []),
  ];
  if (faults.length > 0 || tenant === undefined || compute === undefined) return { faults };
  const from = { node: String(tenant.node), host: String(tenant.host) };
  const to = { node: String(compute.hypervisor_hostname), host: String(compute.owner) };
  const byId = compute_id !== undefined;
  return {
    server: {
      ...{ id: tenant.id, uuid: tenant.uuid, stopped: tenant.vm_state === "stopped" },
      from: byId ? { ...from, compute_id } : from,
      to: byId ? { ...to, compute_id: compute.id } : to,
    },
  };
}

const MOVABLE: ReadonlySet<string | null> = new Set(["active", "stopped", "error"]);

function serverFaults({ uuid, task_state, vm_state, host }: Tenant): readonly string[] {
  return [
    ...(task_state === null ? [] : [`Nova has server ${uuid} in task_state ${task_state}`]),
    ...(MOVABLE.has(vm_state) ? [] : [`Nova has server ${uuid} in vm_state ${String(vm_state)}`]),
    ...(host === null ? [`server ${uuid} has no host`] : []),
  ];
}

/** In this state Nova does not act by itself, and refuses most tenant requests. */
const GUARD = "migrating";

/** A step of a switchover in Nova's rows. */
interface SwitchedRow {
  readonly forth: NovaStep;
  /** The first step that matches the row is performed. Null: no rollback is possible. */
  readonly back: readonly NovaStep[] | null;
}

export function serverSteps(server: SwitchedServer): {
  readonly [step in "hold" | "rows" | "free"]: SwitchedRow;
} {
  const { from, to } = server;
  const guard = step(server, { ...from, task_state: null }, { ...from, task_state: GUARD });
  // The more likely row first: a starting nova-compute clears the guard.
  // @source nova@26.2.2:nova/compute/manager.py _init_instance
  const back = [GUARD, null].map((task_state) =>
    step(server, { ...to, task_state }, { ...from, task_state }),
  );
  const rows = step(server, { ...from, task_state: GUARD }, { ...to, task_state: GUARD });
  const free = step(server, { ...to, task_state: GUARD }, { ...to, task_state: null });
  return {
    hold: { forth: guard, back: [invert(guard)] },
    rows: { forth: rows, back },
    free: { forth: free, back: null },
  };
}

type Row = ServerLocation & { readonly task_state: string | null };

function step({ id, uuid, from }: SwitchedServer, before: Row, after: Row): NovaStep {
  const common = { uuid, deleted: 0 };
  return {
    ...({ id: `instances:${id}`, part: "hosts", table: "instances", key: { id } } as const),
    before: { ...common, ...before },
    after: { ...common, ...after },
    ...{ machine: from.node, of: `instance ${uuid}` },
  };
}
