import { listed, NAMES, showColumn } from "../../lib/text.ts";
import { same } from "../../migrate/hosts/rules/gate.ts";
import { blocks, type Finding } from "../../model/findings.ts";
import type { OwnedMachine, PlannedMove } from "../../model/nova/host-move.ts";
import type { Lease } from "../../model/nova/leases.ts";
import {
  type LegacyMove,
  type LegacyNode,
  type LegacyTenant,
  type LegacyTenantMove,
  MIGRATING,
} from "../../model/nova/legacy-move.ts";
import { isUnlocked } from "./legacy-states.ts";
import { findingsOf, type MoveFacts, type MoveRequest } from "./move-hosts.ts";
import { createMoves } from "./moves.ts";
import { isLive } from "./successors.ts";

interface LegacyFound {
  readonly node: LegacyNode;
  /** The node's instance, also if deleted; null if Nova does not have the row. */
  readonly tenant: LegacyTenant | null;
  readonly owned: OwnedMachine;
  readonly volumes: readonly string[];
  readonly architecture: string | null;
  /** Why the new host cannot create its boot files. */
  readonly boot: readonly Finding[];
}

interface LegacyFacts extends MoveFacts {
  /** Hosts named by nova-network. */
  readonly networks: readonly string[];
  readonly leases: readonly Lease[];
}

/** States in which a machine may be moved. @source systems.md A5, A2 H11 */
const IDLE: ReadonlySet<string | null> = new Set(["active", "deleted", "error", null]);
/** States of a deployment, which ends with its host. @source systems.md A6 A-14 */
const DEPLOYING: ReadonlySet<string | null> = new Set([
  ...["building", "prepared", "deploying", "deploy complete", "deploy failed"],
]);

/** @source facts/systems.md A2, A5 */
export function createLegacyMoves(facts: LegacyFacts, request: MoveRequest) {
  const moves = createMoves(facts, { ...request, driver: "baremetal" });
  return {
    hosts: moves.hosts,
    machine(found: LegacyFound): PlannedMove {
      const { node } = found;
      const from = node.service_host ?? "";
      const takes = request.mode === "takeover";
      const dies = takes && isDying(found);
      // Whether a move was interrupted after the guard, before the claim.
      const guarded = takes && found.tenant?.task_state === MIGRATING && isUnlocked(found.tenant);
      const base = moves.machine(ownedBy(found, from, dies || guarded), from, undefined);
      const started = isStarted(node);
      const judging = { facts, from, to: base.to, dies, started, guarded };
      const findings = [...base.findings, ...judge(found, judging)];
      const isAtTarget = from === base.to && !started;
      const verdict = findings.some(blocks) ? "blocked" : isAtTarget ? "there" : "move";
      if (verdict !== "move") return { ...base, verdict, findings, steps: [] };
      return { ...base, verdict, findings, legacy: moveOf(found, judging) };
    },
  };
}

function isStarted({ task_state }: LegacyNode): boolean {
  return task_state === MIGRATING;
}

/** True for a deployment, also after an interrupted move. @source systems.md A6 A-14 */
function isDying({ node, tenant }: LegacyFound): boolean {
  const { vm_state = null } = tenant ?? {};
  const ends = node.prev_task_state === "error" && ["building", "error"].includes(vm_state ?? "");
  return DEPLOYING.has(stateOf(node)) || (isStarted(node) && ends);
}

/** The state without an interrupted move. */
function stateOf(node: LegacyNode): string | null {
  return isStarted(node) ? node.prev_task_state : node.task_state;
}

function ownedBy({ node, owned }: LegacyFound, from: string, freed: boolean): OwnedMachine {
  const started = isStarted(node);
  if (!started && !freed) return owned;
  const guarded = (state: string | null): boolean => state === null || state === MIGRATING || freed;
  return {
    ...owned,
    computes: started ? owned.computes.map((row) => ({ ...row, owner: from })) : owned.computes,
    instances: owned.instances.map((one) => ({
      ...one,
      host: started ? from : one.host,
      task_state: guarded(one.task_state) ? null : one.task_state,
      // The interrupted move has checked it, and a deployment is judged by the machine's state.
      vm_state: one.vm_state === "building" ? null : one.vm_state,
    })),
  };
}

interface Judging extends Pick<PlannedMove, "from" | "to"> {
  readonly facts: LegacyFacts;
  readonly dies: boolean;
  readonly started: boolean;
  readonly guarded: boolean;
}

function judge(
  found: LegacyFound,
  { facts, from, to, dies, started, guarded }: Judging,
): readonly Finding[] {
  const { node, tenant, volumes, architecture, boot } = found;
  const at = `bm_nodes.id=${node.id}`;
  const state = `task_state is ${showColumn(stateOf(node))}`;
  const of = `instance ${node.instance_uuid}`;
  const names = facts.networks.filter((host) => host === from || host === to);
  // The agent renews the lease only while nova-compute reports, independent of clocks.
  const lease = facts.leases.find(({ host }) => host === from);
  const isAlive = lease !== undefined && from !== to && isLive(lease);
  const isMovable = IDLE.has(stateOf(node)) || dies;
  const owner = `service_host is ${from}, service_epoch ${node.service_epoch}`;
  const hasLock = tenant !== null && isUnlocked(tenant) && tenant.task_state !== MIGRATING;
  const refer = `networks, fixed_ips or floating_ips refer to ${names.join(", ")}`;
  // Tilera, whose tenants' root filesystem is on the compute host. @source nova-bm.md 3.5
  const isTilera = architecture !== null && /^tile/i.test(architecture);
  return [
    ...findingsOf([
      ["N2I-D251", `compute host ${from}`, isAlive && leaseText(lease)],
      ["N2I-D280", at, !isMovable && state],
      ["N2I-D281", at, dies && `${state}: it ends as error`],
      ["N2I-D282", at, (started || guarded) && owner],
      ["N2I-D290", of, hasLock && "locked is 1, and locked_by is NULL"],
      ["N2I-D283", at, pairFault(found)],
      ["N2I-D284", of, volumes.length > 0 && listed(volumes, NAMES)],
      ["N2I-D285", of, tenant !== null && names.length > 0 && refer],
      ["N2I-D286", of, isTilera && `instances.architecture is ${architecture}`],
    ]),
    ...(tenant === null || dies ? [] : boot),
  ];
}

export function leaseText({ host, age, ttl }: Lease): string {
  const [passed, lasts] = [age, ttl].map((time) => Math.round(time / 1000));
  return `the agent of ${host} renewed its lease ${passed} s ago, which lasts ${lasts} s`;
}

/** bm_nodes and Nova must have the same instance. @source systems.md A5 */
function pairFault({ node, tenant, owned }: LegacyFound): string | false {
  const { uuid, instance_uuid } = node;
  const foreign = owned.instances.filter((one) => !same(one.uuid, instance_uuid));
  const uuids = foreign.map((one) => one.uuid);
  if (foreign.length > 0)
    return `instance_uuid is ${showColumn(instance_uuid)}, instances.node of ${listed(uuids, NAMES)} is ${uuid}`;
  if (instance_uuid === null) return false;
  if (tenant === null || tenant.deleted)
    return `instance ${instance_uuid} is ${tenant === null ? "not in Nova" : "deleted"}`;
  return (
    !same(tenant.node, uuid) && `instances.node of ${instance_uuid} is ${showColumn(tenant.node)}`
  );
}

function moveOf({ node, tenant }: LegacyFound, { from, to, dies, started }: Judging): LegacyMove {
  const before = stateOf(node);
  return {
    ...{ id: node.id, uuid: node.uuid, from, to, epoch: node.service_epoch },
    ...{ before, after: dies ? "error" : before, begun: started },
    tenant: tenant === null ? null : tenantOf(tenant, dies),
    boots: tenant !== null && !dies,
  };
}

/** An interrupted move locked the instance even if its task_state was cleared since. */
function tenantOf(tenant: LegacyTenant, dies: boolean): LegacyTenantMove {
  const { id, uuid, node, host, vm_state } = tenant;
  const locked = tenant.locked && !isUnlocked(tenant);
  // The guard is not a user's request.
  const task_state = tenant.task_state === MIGRATING ? null : tenant.task_state;
  return {
    ...{ id, uuid, node: node ?? "", host: host ?? "", locked },
    task_state: dies ? task_state : null,
    // The request was accepted. Otherwise, the machine would be blocked.
    ...(!dies && task_state !== null && { request: task_state }),
    ...{ before: vm_state, after: dies ? "error" : vm_state },
  };
}
