import { same } from "../../migrate/hosts/rules/gate.ts";
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
import { instanceStep } from "./moves.ts";

export interface LegacyNow {
  readonly move: LegacyMove;
  /** Null: deleted. */
  readonly node: LegacyNode | null;
  /** Null: the machine has no instance, or Nova does not have its row. */
  readonly tenant: LegacyTenant | null;
  readonly computes: readonly OwnedCompute[];
}

export type LegacyTransition = ReturnType<typeof backTransition>;

export function forwardTransition(move: LegacyMove): LegacyTransition {
  const { from, to, epoch, before, after, begun: started } = move;
  // If the run of a move to the same host was lost, the move is only finished.
  const reached = from === to ? [epoch] : [epoch + 1];
  return {
    ...{ move, goal: to, other: from, back: false, startEpoch: epoch, reached, ends: after },
    begins: started ? [MIGRATING, before] : [before],
  };
}

/** Epochs never decrease. A machine that was not claimed keeps its epoch. */
export function backTransition(move: LegacyMove) {
  const { from, to, epoch, before, after } = move;
  return {
    ...{ move, goal: from, other: to, back: from !== to },
    /** Possible epochs while the other host owns the machine, and after the move. */
    ...{ startEpoch: epoch + 1, reached: [epoch, epoch + 2] },
    /** task_state after the move, and its possible values before the move. */
    ...{ ends: before, begins: [after, MIGRATING] },
  };
}

/** The state of a move; `before` includes unfinished moves. */
interface MoveState {
  readonly is: "before" | "after" | "other";
  /** For `other`. */
  readonly reason: string | null;
}

const AFTER: MoveState = { is: "after", reason: null };

/**
 * Accepts each state that an interrupted move can leave. @source systems.md A4 (failure modes), A5
 */
export function moveState(transition: LegacyTransition, now: LegacyNow): MoveState {
  const { move, goal, ends } = transition;
  const { node } = now;
  const reason = nodeFault(transition, node) ?? tenantFault(transition, now);
  if (reason !== null) return { is: "other", reason };
  // The move was interrupted before the claim.
  if (move.begun && goal === move.from && node?.service_epoch === move.epoch) return AFTER;
  const isAtGoal = node?.service_host === goal;
  const released = isAtGoal && node.task_state === ends && node.prev_task_state === null;
  const tenant = liveTenant(transition, now);
  const served = tenant === null || (tenant.host === goal && tenant.task_state !== MIGRATING);
  if (released && served && !keepsLock(transition, now)) return AFTER;
  // task_state is restored last, so a later difference is a change by others.
  if (released && node.service_epoch !== move.epoch)
    return {
      is: "other",
      reason: `instances.host is ${tenant?.host}, but the move in bm_nodes is finished`,
    };
  return { is: "before", reason: null };
}

/**
 * A nova-compute that starts on the former host clears the guard's task_state, but not its lock.
 *
 * @source systems.md A2 H2
 */
function keepsLock(transition: LegacyTransition, now: LegacyNow): boolean {
  const { move, goal } = transition;
  if (goal !== move.from || now.node?.service_epoch !== move.epoch) return false;
  const tenant = liveTenant(transition, now);
  return tenant !== null && isUnlocked(tenant);
}

/**
 * Whether the machine was deleted or had other owners: a move and its rollback change it once each.
 */
export function isForeignMachine(move: LegacyMove, node: LegacyNode | null): boolean {
  if (node === null) return true;
  const { service_host: owner, service_epoch: epoch, task_state } = node;
  if (owner !== move.from && owner !== move.to) return true;
  return task_state !== MIGRATING && epoch > move.epoch + (owner === move.to ? 1 : 2);
}

/**
 * Nova sets locked_by, a move does not.
 *
 * @source nova@2013.2:nova/compute/api.py lock: locked_by is owner or admin
 */
export function isUnlocked({
  locked,
  locked_by,
}: Pick<LegacyTenant, "locked" | "locked_by">): boolean {
  return locked && locked_by === null;
}

function nodeFault(
  { move, goal, other, startEpoch, reached, ends, begins }: LegacyTransition,
  node: LegacyNode | null,
): string | null {
  if (node === null) return "bm_nodes no longer has such a live row";
  const { service_host: owner, service_epoch: epoch, task_state: state, instance_uuid } = node;
  if (!same(instance_uuid || null, move.tenant?.uuid))
    return `bm_nodes now has instance ${instance_uuid ?? "none"}`;
  const current = `service_host is ${owner ?? "none"}, service_epoch ${epoch}, task_state ${state ?? "none"}`;
  const right =
    owner === other
      ? epoch === startEpoch && begins.includes(state)
      : owner === goal && reached.includes(epoch) && (state === ends || state === MIGRATING);
  return right ? null : `${current}: it has changed since`;
}

function tenantFault(transition: LegacyTransition, now: LegacyNow): string | null {
  const { move, goal, other } = transition;
  const { node, tenant } = now;
  const { tenant: was } = move;
  if (was === null) return null;
  const claimed = node?.task_state === MIGRATING || node?.service_host === goal;
  if (tenant === null || tenant.deleted) return claimed ? null : `instance ${was.uuid} was deleted`;
  if (![goal, other, was.host].includes(tenant.host ?? "") || !same(tenant.node ?? "", was.node))
    return `instances.host is now ${tenant.host ?? "none"} on node ${tenant.node ?? "none"}`;
  // A lock to be removed waits until Nova has finished its task.
  const done =
    node?.service_host === goal && node.task_state !== MIGRATING && !keepsLock(transition, now);
  // On the new host, a task is a new request.
  const request = goal === move.to ? (was.request ?? null) : null;
  return done || [null, MIGRATING, was.task_state, request].includes(tenant.task_state)
    ? null
    : `Nova started ${tenant.task_state} on instance ${was.uuid}`;
}

/** Also null if Nova deleted the instance, and its machine moves without it. */
export function liveTenant({ move }: LegacyTransition, { tenant }: LegacyNow): LegacyTenant | null {
  return move.tenant === null || tenant === null || tenant.deleted ? null : tenant;
}

/** For Nova's API and a starting nova-compute. @source systems.md A2 H1, H3 */
export function guardStep(change: LegacyTransition, tenant: LegacyTenant): NovaStep {
  const { host, task_state, locked, locked_by } = tenant;
  const before = { host, task_state, locked, locked_by };
  return instanceStep(tenant, change.move.uuid, before, { host, ...GUARDED });
}

const GUARDED = { task_state: MIGRATING, locked: true };

/**
 * A user's lock is kept. On its former host, Nova resumes the task unless a starting nova-compute
 * dropped it. On a new host, the task is lost.
 */
export function servedStep(
  transition: LegacyTransition,
  tenant: LegacyTenant,
  node: LegacyNode | null,
): NovaStep {
  const { move, goal, back } = transition;
  const { before = null, after = null } = move.tenant ?? {};
  const { locked_by } = tenant;
  // Only a move of a claimed machine writes vm_state.
  const isAbandoned = back && node?.service_epoch === move.epoch && tenant.vm_state !== before;
  const task_state = back && !isAbandoned ? (move.tenant?.task_state ?? null) : null;
  const ends = goal === move.to ? after : before;
  const state =
    before === after || isAbandoned
      ? [{}, {}]
      : [{ vm_state: tenant.vm_state }, { vm_state: ends }];
  return instanceStep(
    tenant,
    move.uuid,
    { host: tenant.host, ...GUARDED, locked_by, ...state[0] },
    { host: goal, task_state, locked: locked_by !== null, locked_by, ...state[1] },
  );
}

/** nova-compute may have created another compute node. @source systems.md A2 H5 */
export function computeSteps(
  { move, goal, other }: LegacyTransition,
  { computes }: LegacyNow,
  services: readonly NovaService[],
  at: string,
): readonly NovaStep[] {
  const bare = computes.map(({ owner, hypervisor_type, ...row }) => row);
  const moving = bare.filter((_row, index) => computes[index]?.owner !== goal);
  if (moving.length === 0) return [];
  return moveComputes({ uuid: move.uuid, service_host: other }, bare, services, goal, at).steps;
}
