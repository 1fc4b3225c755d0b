import { same } from "../migrate/hosts/rules/keeps-instance.ts";
import { type RowVerdict, verdictsOf } from "../model/artefact.ts";
import type {
  ComputeHost,
  NodeTenant,
  OwnedCompute,
  OwnedMachine,
  PlannedMove,
} from "../model/nova/host-move.ts";
import type { Compared, MoveTarget } from "./target.ts";

export async function* compareMoves(
  place: MoveTarget,
  { plans, hosts }: Compared,
): AsyncGenerator<RowVerdict> {
  const machines = await place.machines();
  const seen = new Set<string>();
  for (const { lines } of plans)
    for await (const batch of lines()) {
      // The latest plan of a machine counts.
      const own = batch.filter(({ uuid, verdict }) => verdict !== "blocked" && !seen.has(uuid));
      for (const { uuid } of own) seen.add(uuid);
      const nodes = own.map(({ uuid }) => uuid);
      const tenants = await place.tenants?.(nodes);
      const now = await machines.of(nodes);
      for (const [at, line] of own.entries()) {
        const machine = now[at];
        if (machine !== undefined)
          yield* judgeMachine(line, machine, hosts, tenants?.get(line.uuid));
      }
    }
}

function* judgeMachine(
  { uuid, from, to, instance }: PlannedMove,
  { computes, instances }: OwnedMachine,
  hosts: readonly ComputeHost[],
  tenant: NodeTenant,
): Generator<RowVerdict> {
  const row = verdictsOf(uuid);
  for (const { id, host } of instances)
    yield row(`instances:${id}`, host === to ? null : `host is ${host}, expected ${to}`);
  const alive = instance === null || instances.some((one) => same(one.uuid, instance));
  if (!alive && instances.length === 0)
    yield row(`instance ${instance}`, orphaned(instance, tenant));
  const owner = hosts.find(({ host }) => host === to);
  yield* judgeComputes(row, computes, to, ({ owner: served, service_id }) => {
    if (served === to)
      return service_id !== null && owner !== undefined && service_id !== owner.id
        ? `it names ${to}, but service_id ${service_id} belongs to another host`
        : null;
    if (served === from)
      return `it still names ${from}. nova-compute of ${to} changes it at its next pass`;
    // Nova's hash ring may assign an idle machine to any host.
    return instances.length === 0 ? null : `it names ${served}, expected ${to}`;
  });
}

/** A node with an instance that Nova does not have: its nova-compute may tear it down. */
function orphaned(instance: string | null, tenant: NodeTenant): string | null {
  if (tenant === undefined)
    return "orphaned: it was deleted, but Ironic's node may still name it. Pass --ironic-db or a login";
  return same(tenant?.instance_uuid, instance)
    ? "orphaned: Nova has no such instance, but Ironic's node names it"
    : null;
}

/** Expects one compute node per machine. @param faultOf returns its fault */
export function* judgeComputes(
  row: ReturnType<typeof verdictsOf>,
  computes: readonly OwnedCompute[],
  to: string,
  faultOf: (compute: OwnedCompute) => string | null,
): Generator<RowVerdict> {
  const [first, ...more] = computes;
  if (more.length > 0) {
    const owners = computes.map(({ owner }) => owner).join(", ");
    yield row("compute_nodes", `${computes.length} live rows: ${owners}`);
  } else if (first === undefined)
    yield row("compute_nodes", `no live row. nova-compute of ${to} creates one at its next pass`);
  else yield row(`compute_nodes:${first.id}`, faultOf(first));
}
