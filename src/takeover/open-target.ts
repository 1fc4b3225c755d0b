import { same } from "../migrate/hosts/rules/gate.ts";
import { type RowVerdict, verdictsOf } from "../model/artefact.ts";
import type { Entries } from "../model/journal.ts";
import type {
  ComputeHost,
  NodeTenant,
  OwnedCompute,
  OwnedMachine,
  PlannedMove,
} from "../model/nova/host-move.ts";
import { type LegacyMove, MIGRATING } from "../model/nova/legacy-move.ts";
import type { MovePlan } from "../run/host-files.ts";
import { openMachines } from "../systems/nova-db/machines.ts";
import { type LegacyClients, openLegacyClients } from "./baremetal/legacy-clients.ts";
import { machinesOf } from "./baremetal/legacy-moves.ts";
import type { ObservedPort } from "./baremetal/legacy-ports.ts";
import { movedMachines } from "./baremetal/steps/legacy-started.ts";
import { holderText, takenLocks } from "./leases/locks.ts";
import {
  forwardTransition,
  isForeignMachine,
  type LegacyNow,
  moveState,
} from "./rules/legacy-states.ts";
import { type MoveTarget, openHostClients } from "./target.ts";

/** @throws MigrationError as `openHostClients`, and for nova-baremetal as `openLegacyClients` */
export async function openTarget(
  variant: MoveTarget["variant"],
  ...opening: Parameters<typeof openLegacyClients>
) {
  return variant === "ironic" ? openHostClients(...opening) : openLegacyClients(...opening);
}

export interface Compared {
  readonly plans: readonly [MovePlan, ...(readonly MovePlan[])];
  readonly hosts: readonly ComputeHost[];
  readonly entries: Entries;
}

/** Compares each machine of these plans with its planned state, the present plan first. */
export function compare(
  target: Awaited<ReturnType<typeof openTarget>>,
  compared: Compared,
): AsyncIterable<RowVerdict> {
  return target.variant === "ironic"
    ? compareMoves(target, compared)
    : judgeLegacy(target, compared);
}

async function* compareMoves(
  location: MoveTarget,
  { plans, hosts }: Compared,
): AsyncGenerator<RowVerdict> {
  const machines = await openMachines(location.database);
  const view = new Set<string>();
  for (const { lines } of plans)
    for await (const batch of lines()) {
      // The latest plan of a machine counts.
      const latest = batch.filter(({ uuid, verdict }) => verdict !== "blocked" && !view.has(uuid));
      for (const { uuid } of latest) view.add(uuid);
      const nodes = latest.map(({ uuid }) => uuid);
      const tenants = await location.tenants?.(nodes);
      const now = await machines.of(nodes);
      for (const [at, line] of latest.entries()) {
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
        ? `it has host ${to}, but service_id ${service_id} belongs to another host`
        : null;
    if (served === from)
      return `it still has host ${from}. nova-compute of ${to} changes it in its next pass`;
    // Nova's hash ring may assign an idle machine to any host.
    return instances.length === 0 ? null : `it has host ${served}, expected ${to}`;
  });
}

/** A node with an instance that Nova does not have: its nova-compute may tear it down. */
function orphaned(instance: string | null, tenant: NodeTenant): string | null {
  if (tenant === undefined)
    return "orphaned: it was deleted, but Ironic's node may still refer to it. Pass --ironic-db or credentials";
  return same(tenant?.instance_uuid, instance)
    ? "orphaned: Nova has no such instance, but Ironic's node refers to it"
    : null;
}

/** Expects one compute node per machine. @param faultOf returns its fault */
function* judgeComputes(
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
    yield row("compute_nodes", `no live row. nova-compute of ${to} creates one in its next pass`);
  else yield row(`compute_nodes:${first.id}`, faultOf(first));
}

const PAGE = 100;

async function* judgeLegacy(
  { read, leases, ports }: LegacyClients,
  { plans: [plan], entries }: Compared,
): AsyncGenerator<RowVerdict> {
  const begun = movedMachines(entries);
  const held = new Set(begun.map(({ move }) => move.uuid));
  /** Other agents may take over a dead host's machine. For a planned move, only the plan counts. */
  const isAbandoned = ({ move, node }: LegacyNow): boolean =>
    plan.manifest.mode === "takeover" && !held.has(move.uuid) && isForeignMachine(move, node);
  const moves = new Map<string, LegacyMove>();
  for await (const some of machinesOf(plan)) for (const { id, move } of some) moves.set(id, move);
  // The first start in the journal has the state before the move.
  for (const { id, move } of begun) moves.set(id, move);
  const all = [...moves.values()];
  for (let at = 0; at < all.length; at += PAGE) {
    const some = all.slice(at, at + PAGE);
    const now = await read(some);
    const observed = await ports.of(some);
    const locks = new Map((await takenLocks(leases)).map((lock) => [lock.resource, lock]));
    for (const view of now) {
      const lock = locks.get(`node:${view.move.uuid.toLowerCase()}`);
      if (!isAbandoned(view)) yield* judgeLegacyMachine(view, lock, observed);
      else {
        // For a machine that was deleted or has another owner, Nova must match nova_bm.
        yield verdictsOf(view.move.uuid, view.move.id)(`bm_nodes:${view.move.id}`, null);
        const owner = view.node?.service_host ?? null;
        if (owner !== null && view.node?.task_state !== MIGRATING) yield* judgeNova(view, owner);
      }
    }
  }
}

function portFault({ move: { to, tenant }, now, expected: wanted }: ObservedPort): string | null {
  const host = wanted?.host ?? to;
  if (!now) return "it is not in Neutron, or its host is not visible with these credentials";
  if (!same(now.device_id, tenant?.uuid ?? null))
    return `it belongs to ${now.device_id || "no device"}`;
  if (now.host !== host) return `binding:host_id is ${now.host}, expected ${host}`;
  const [name, value] =
    Object.entries(wanted?.options ?? {}).find(([name, value]) => now.options[name] !== value) ??
    [];
  return name === undefined
    ? null
    : `DHCP option ${name} is ${now.options[name] ?? "missing"}, expected ${value}`;
}

function* judgeLegacyMachine(
  now: LegacyNow,
  lock: Parameters<typeof holderText>[0] | undefined,
  ports: readonly ObservedPort[],
): Generator<RowVerdict> {
  const { move } = now;
  const { id, to } = move;
  const row = verdictsOf(move.uuid, id);
  const state = moveState(forwardTransition(move), now);
  const owner = now.node?.service_host ?? null;
  const reason =
    state.reason ??
    `service_host is ${owner}, expected ${to}; task_state is ${now.node?.task_state}`;
  const held = lock === undefined ? "" : `; its lock is ${holderText(lock)}`;
  yield row(`bm_nodes:${id}`, state.is === "after" ? null : `${reason}${held}`);
  yield* judgeNova(now, to);
  // Without credentials, ports are not checked.
  for (const port of ports)
    if (port.move === move && port.now !== null) yield row(`port:${port.id}`, portFault(port));
}

function* judgeNova(
  { move, node, tenant, computes }: LegacyNow,
  to: string,
): Generator<RowVerdict> {
  const { tenant: was } = move;
  const row = verdictsOf(move.uuid, move.id);
  const names = node?.instance_uuid ?? null;
  if (was !== null && names !== null && same(names, was.uuid)) {
    const gone = tenant === null ? "not in Nova" : tenant.deleted ? "deleted in Nova" : null;
    if (gone !== null)
      yield row(`instances:${was.id}`, `orphaned: bm_nodes refers to ${names}, which is ${gone}`);
    else yield row(`instances:${was.id}`, hostFault(tenant?.host ?? null, to));
  }
  yield* judgeComputes(row, computes, to, ({ owner }) => hostFault(owner, to));
}

function hostFault(host: string | null, to: string): string | null {
  return host === to ? null : `host is ${host ?? "none"}, expected ${to}`;
}
