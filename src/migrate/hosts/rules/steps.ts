import { type Finding, findingIf } from "../../../model/findings.ts";
import type { Row } from "../../../model/machine.ts";
import type { NovaStep } from "../../../model/nova/nova-plan.ts";
import type {
  ComputeRow,
  InstanceRow,
  NovaService,
  NovaTables,
} from "../../../model/nova/nova-rows.ts";
import type { PlannedMachine } from "../../../model/plan.ts";
import type { Choice } from "./choice.ts";
import { keepsInstance } from "./gate.ts";

/**
 * The step that sets an instance's host, and its node if that differs, even in case, because
 * PostgreSQL compares exactly. bm_nodes decides the machine. Deleted instances and those that
 * another machine keeps are unchanged.
 * @param made the planned node
 * @source facts/nova-bm.md 2.4, 5.2
 */
export function instanceStep(
  machine: string | null,
  made: Row | undefined,
  instance: InstanceRow | null,
  to: string,
): NovaStep | null {
  if (instance === null || instance.deleted !== 0 || !keepsInstance(made, instance)) return null;
  const { id, uuid, deleted, task_state, host } = instance;
  const node = typeof made?.uuid === "string" ? made.uuid : instance.node;
  if (host === to && node === instance.node) return null;
  const common = { uuid, deleted, task_state };
  return {
    id: `instances:${id}`,
    part: "hosts",
    table: "instances",
    key: { id },
    before: { ...common, host, node: instance.node },
    after: { ...common, host: to, node },
    machine,
    of: `instance ${uuid}`,
  };
}

/**
 * Leaves one live compute node per machine, on the new host. The old row is moved, to keep its id
 * and UUID. If the host has no service, the row is soft-deleted and nova-compute creates a new one.
 * Rows since Kilo name the host, and need no service.
 * @source facts/nova-bm.md 5.1, 5.2, 5.3; facts/systems.md A3
 */
export function moveComputes(
  { uuid: machine, service_host }: Pick<PlannedMachine, "uuid" | "service_host">,
  computes: readonly ComputeRow[],
  services: readonly NovaService[],
  to: string,
  at: string,
): { readonly steps: readonly NovaStep[]; readonly sources: readonly string[] } {
  const hostOf = (row: ComputeRow): string | null => computeHost(row, services);
  const target = services.find(({ host }) => host === to);
  const atTarget = computes.find((row) => hostOf(row) === to);
  const movable = target === undefined ? computes.filter(({ host }) => host) : computes;
  const chosen = atTarget ?? movable.find((row) => hostOf(row) === service_host) ?? movable[0];
  const sources: string[] = [];
  const steps: NovaStep[] = [];
  for (const row of computes) {
    if (row === atTarget) continue;
    const host = hostOf(row);
    if (host !== null && host !== to) sources.push(host);
    const { id, service_id, hypervisor_hostname } = row;
    const common = {
      ...({ id: `compute_nodes:${id}`, part: "hosts", table: "compute_nodes" } as const),
      ...{ key: { id }, machine, of: `compute node ${hypervisor_hostname}` },
    };
    const hostField = row.host === undefined ? {} : { host: row.host };
    if (row === chosen) {
      const same = { hypervisor_hostname, deleted: row.deleted };
      steps.push({
        ...common,
        before: { ...same, service_id, ...hostField },
        after: {
          ...{ ...same, ...hostField },
          // A row with a host column has a service only if Nova set it. The old service is never right.
          service_id: row.host && service_id === null ? null : (target?.id ?? null),
          ...(row.host && { host: to }),
        },
      });
    } else {
      const same = { hypervisor_hostname, service_id, ...hostField };
      steps.push({
        ...common,
        before: { ...same, deleted: row.deleted, deleted_at: row.deleted_at },
        after: { ...same, deleted: id, deleted_at: at },
      });
    }
  }
  return { steps, sources };
}

/** The compute host of a row, by its own column or its service. */
export function computeHost(
  { service_id, host }: ComputeRow,
  services: readonly NovaService[],
): string | null {
  return host ?? services.find(({ id }) => id === service_id)?.host ?? null;
}

/** Disables an empty service with a reason, and never deletes it. */
export function serviceStep(
  { id, host, disabled, disabled_reason }: NovaService,
  to: readonly string[],
): readonly NovaStep[] {
  if (disabled === true) return [];
  const same = { host, deleted: 0 };
  return [
    {
      ...({ id: `services:${id}`, part: "hosts", table: "services", key: { id } } as const),
      before: { ...same, disabled, disabled_reason },
      after: {
        ...{ ...same, disabled: true },
        disabled_reason: `nova2ironic: moved to ${to.join(", ")}`.slice(0, 255),
      },
      machine: null,
      of: `service ${host}`,
    },
  ];
}

const NONE: readonly number[] = [];

/** Aggregates for destination hosts. A new host gets those that all its source hosts have. */
export function aggregatesOf({ services, aggregates, baremetal }: NovaTables, choice: Choice) {
  const isOf = (host: string): readonly number[] => aggregates.get(host) ?? NONE;
  const memberships = new Map(
    [...choice.targets].map(([to, from]) => {
      const exists = services.some(({ host }) => host === to) || aggregates.has(to);
      const sources = (from ?? baremetal).filter((host) => host !== to);
      const [first = NONE, ...rest] = (exists ? [to] : sources).map(isOf);
      return [to, first.filter((id) => rest.every((other) => other.includes(id)))] as const;
    }),
  );
  return {
    missing: (host: string): readonly number[] =>
      (memberships.get(host) ?? NONE).filter((id) => !isOf(host).includes(id)),
    /** Whether an instance would change its aggregates, and thus its availability zone. */
    judge({ uuid, host }: InstanceRow, to: string): readonly Finding[] {
      const [now, then] = [isOf(host ?? ""), memberships.get(to) ?? NONE];
      const same = now.length === then.length && now.every((id) => then.includes(id));
      const [from, into] = [now, then].map((ids) => ids.join(", ") || "none");
      const differ = `${host} is in aggregates ${from}, ${to} in ${into}`;
      return findingIf(!same && host !== to, "N2I-D221", `instance ${uuid}`, differ);
    },
  };
}
