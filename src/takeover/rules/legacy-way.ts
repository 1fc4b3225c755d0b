import { moveComputes } from "../../migrate/hosts/rules/steps.ts";
import type { OwnedCompute } from "../../model/nova/host-move.ts";
import {
  type LegacyMove,
  type LegacyNode,
  type LegacyTenant,
  MIGRATING,
} from "../../model/nova/legacy-move.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import type { NovaService } from "../../model/nova/nova-rows.ts";

/** What both databases hold of a machine now. */
export interface LegacyNow {
  /** Null: gone, or deleted. */
  readonly node: LegacyNode | null;
  /** Null: the machine names none, or Nova has no such row. */
  readonly tenant: LegacyTenant | null;
  /** Live rows that name it. */
  readonly computes: readonly OwnedCompute[];
}

/** Where a machine is taken: to its new owner, or back to its old one. */
export interface LegacyWay {
  readonly move: LegacyMove;
  readonly goal: string;
  readonly other: string;
  /** Epochs it may have while the other owns it, and once the goal does. */
  readonly held: number;
  readonly reached: readonly number[];
  /** task_state that it ends as, and those it may have while the other owns it. */
  readonly ends: string | null;
  readonly begins: readonly (string | null)[];
}

/** To the new owner. */
export function wayThere(move: LegacyMove): LegacyWay {
  const { from, to, epoch, before, after, begun } = move;
  // Its own nova-compute's, whose run is lost: it is only brought to its end.
  const reached = from === to ? [epoch] : [epoch + 1];
  return {
    ...{ move, goal: to, other: from, held: epoch, reached, ends: after },
    begins: begun ? [MIGRATING, before] : [before],
  };
}

/** Back to the old one: an epoch never goes back, and a machine that was not claimed has its own still. */
export function wayBack(move: LegacyMove): LegacyWay {
  const { from, to, epoch, before, after } = move;
  return {
    ...{ move, goal: from, other: to, held: epoch + 1, reached: [epoch, epoch + 2] },
    ...{ ends: before, begins: [after, MIGRATING] },
  };
}

/** How a machine stands on its way; `before` also where it is half way. */
interface Standing {
  readonly is: "before" | "after" | "other";
  /** Of another one. */
  readonly why: string | null;
}

const AFTER: Standing = { is: "after", why: null };

/**
 * Compares what both databases hold with what the move left, or may have left where it died.
 *
 * @source systems.md A4 (failure modes), A5
 */
export function standing(way: LegacyWay, now: LegacyNow): Standing {
  const { move, goal, ends } = way;
  const { node } = now;
  const why = nodeFault(way, node) ?? tenantFault(way, now);
  if (why !== null) return { is: "other", why };
  // Whoever died over it left it so, and nothing was claimed since.
  if (move.begun && goal === move.from && node?.service_epoch === move.epoch) return AFTER;
  const there = node?.service_host === goal;
  const released = there && node.task_state === ends && node.prev_task_state === null;
  const tenant = liveTenant(way, now);
  const served = tenant === null || (tenant.host === goal && tenant.task_state !== MIGRATING);
  if (released && served && !keepsLock(way, now)) return AFTER;
  // Its state comes back last: what is not right by then somebody else changed.
  if (released && node.service_epoch !== move.epoch)
    return { is: "other", why: `instances.host is ${tenant?.host}, and bm_nodes is done` };
  return { is: "before", why: null };
}

/**
 * Whether an instance of the old host, whose machine was never claimed, is locked as a guard locks it: the old
 * nova-compute cleared its task_state as it started, and nothing else takes that lock away.
 *
 * @source systems.md A2 H2
 */
function keepsLock(way: LegacyWay, now: LegacyNow): boolean {
  const { move, goal } = way;
  if (goal !== move.from || now.node?.service_epoch !== move.epoch) return false;
  const tenant = liveTenant(way, now);
  return tenant !== null && isLockedByNobody(tenant);
}

/**
 * Whether nothing of a machine that a run began is the run's own any more: it is gone, or others had it since. This
 * run's way there, and its way back, change the owner once each.
 */
export function isOthers(move: LegacyMove, node: LegacyNode | null): boolean {
  if (node === null) return true;
  const { service_host: owner, service_epoch: epoch, task_state } = node;
  if (owner !== move.from && owner !== move.to) return true;
  return task_state !== MIGRATING && epoch > move.epoch + (owner === move.to ? 1 : 2);
}

/**
 * Whether a move that died locked it: Nova names whoever locks one, and a move leaves that empty.
 *
 * @source nova@2013.2:nova/compute/api.py lock: locked_by is owner or admin
 */
export function isLockedByNobody({
  locked,
  locked_by,
}: Pick<LegacyTenant, "locked" | "locked_by">): boolean {
  return locked && locked_by === null;
}

function nodeFault(
  { move, goal, other, held, reached, ends, begins }: LegacyWay,
  node: LegacyNode | null,
): string | null {
  if (node === null) return "bm_nodes has no such live row any more";
  const { service_host: owner, service_epoch: epoch, task_state: state, instance_uuid } = node;
  if (!sameUuid(instance_uuid, move.tenant?.uuid ?? null))
    return `bm_nodes names instance ${instance_uuid ?? "none"} by now`;
  const place = `service_host is ${owner ?? "none"}, service_epoch ${epoch}, task_state ${state ?? "none"}`;
  const right =
    owner === other
      ? epoch === held && begins.includes(state)
      : owner === goal && reached.includes(epoch) && (state === ends || state === MIGRATING);
  return right ? null : `${place}: somebody changed it since`;
}

function tenantFault(way: LegacyWay, now: LegacyNow): string | null {
  const { move, goal, other } = way;
  const { node, tenant } = now;
  const { tenant: was } = move;
  if (was === null) return null;
  const claimed = node?.task_state === MIGRATING || node?.service_host === goal;
  if (tenant === null || tenant.deleted)
    return claimed ? null : `instance ${was.uuid} was deleted since`;
  if (![goal, other, was.host].includes(tenant.host ?? "") || !sameUuid(tenant.node, was.node))
    return `instances.host is ${tenant.host ?? "none"} on node ${tenant.node ?? "none"} by now`;
  // A lock that is to be taken away waits until Nova is done with it.
  const done = node?.service_host === goal && node.task_state !== MIGRATING && !keepsLock(way, now);
  // Asked anew of the new host it is another one.
  const request = goal === move.to ? (was.request ?? null) : null;
  return done || [null, MIGRATING, was.task_state, request].includes(tenant.task_state)
    ? null
    : `Nova began ${tenant.task_state} on instance ${was.uuid}`;
}

/** Null also for one that Nova deleted meanwhile: its machine goes on without it. */
export function liveTenant({ move }: LegacyWay, { tenant }: LegacyNow): LegacyTenant | null {
  return move.tenant === null || tenant === null || tenant.deleted ? null : tenant;
}

function sameUuid(one: string | null, other: string | null): boolean {
  return (one ?? "").toLowerCase() === (other ?? "").toLowerCase();
}

/** What keeps Nova's API, and a nova-compute that starts, from the instance meanwhile. @source systems.md A2 H1, H3 */
export function guardStep(way: LegacyWay, tenant: LegacyTenant): NovaStep {
  const { task_state, locked, locked_by } = tenant;
  return tenantStep(way, tenant, { host: tenant.host, task_state, locked, locked_by }, GUARDED);
}

const GUARDED = { task_state: MIGRATING, locked: true };

/**
 * Its instance served by the goal, its guard taken away; a lock that somebody holds, whenever he took it, stays. Back at its old host Nova goes on with what it was doing, unless
 * a nova-compute that started there gave that up; at a new one it is lost.
 */
export function servedStep(
  way: LegacyWay,
  tenant: LegacyTenant,
  node: LegacyNode | null,
): NovaStep {
  const { move, goal } = way;
  const { before = null, after = null } = move.tenant ?? {};
  const { locked_by } = tenant;
  const back = goal === move.from && move.from !== move.to;
  // No move has written the state of an instance whose machine was never claimed.
  const isGivenUp = back && node?.service_epoch === move.epoch && tenant.vm_state !== before;
  const task_state = back && !isGivenUp ? (move.tenant?.task_state ?? null) : null;
  const ends = goal === move.to ? after : before;
  const state =
    before === after || isGivenUp ? [{}, {}] : [{ vm_state: tenant.vm_state }, { vm_state: ends }];
  return tenantStep(
    way,
    tenant,
    { host: tenant.host, ...GUARDED, locked_by, ...state[0] },
    { host: goal, task_state, locked: locked_by !== null, locked_by, ...state[1] },
  );
}

function tenantStep(
  { move }: LegacyWay,
  { id, uuid, node, host }: LegacyTenant,
  before: object,
  after: object,
): NovaStep {
  const common = { uuid, node, deleted: 0 };
  return {
    ...({ id: `instances:${id}`, part: "hosts", table: "instances", key: { id } } as const),
    before: { ...common, ...before },
    after: { ...common, host, ...after },
    ...{ machine: move.uuid, of: `instance ${uuid}` },
  };
}

/** Its compute nodes: one under the goal, where a nova-compute may have made one by itself. @source systems.md A2 H5 */
export function computeSteps(
  { move, goal, other }: LegacyWay,
  { computes }: LegacyNow,
  services: readonly NovaService[],
  at: string,
): readonly NovaStep[] {
  const bare = computes.map(({ owner, hypervisor_type, ...row }) => row);
  const moving = bare.filter((_row, index) => computes[index]?.owner !== goal);
  if (moving.length === 0) return [];
  return moveComputes({ uuid: move.uuid, service_host: other }, bare, services, goal, at).steps;
}
