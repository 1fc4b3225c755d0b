import { isUuid } from "../../lib/uuid.ts";
import { same } from "../../migrate/hosts/rules/gate.ts";
import { moveComputes } from "../../migrate/hosts/rules/steps.ts";
import { accept, blocks, type Finding } from "../../model/findings.ts";
import type {
  ComputeHost,
  NodeTenant,
  OldHost,
  OwnedMachine,
  PlannedMove,
  Tenant,
} from "../../model/nova/host-move.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import { hasMovedToApi } from "../../model/nova/nova-release.ts";
import { busyText, requestText } from "../../model/nova/requests.ts";
import {
  findingsOf,
  isFenced,
  judgeHosts,
  type MoveFacts,
  type MoveRequest,
  noService,
  SENTENCES,
} from "./move-hosts.ts";
import { destination } from "./successors.ts";

type HostPair = Pick<PlannedMove, "from" | "to">;

/** @source facts/systems.md A1, A5; facts/systems-measured.md A1+, A2+ */
export function createMoves(facts: MoveFacts, request: MoveRequest) {
  return {
    /** @param tenant the node's instance in Ironic */
    machine(machine: OwnedMachine, from: string, tenant: NodeTenant): PlannedMove {
      // A destination that already has the machine or its compute node keeps it.
      const serves = [from, machine.computes[0]?.owner].find((one) =>
        request.to.includes(one ?? ""),
      );
      const to = serves ?? destination(machine.node, request.to);
      const accepted = request.acceptances(machine.node, from);
      const findings = accept(
        [
          ...(from === to ? [] : judgeHosts(facts, request, from, to)),
          ...judgeMachine(machine, { from, to }, tenant, request.driver ?? "ironic"),
        ],
        // Only requests of a dead host certainly never end.
        accepted.filter((one) => request.mode === "takeover" || one.finding !== "N2I-D260"),
      );
      const blocked = findings.some(blocks);
      const steps = blocked ? [] : stepsOf(machine, { from, to }, facts);
      const [instance] = machine.instances;
      return {
        ...{ uuid: machine.node, from, to },
        verdict: blocked ? "blocked" : steps.length === 0 ? "there" : "move",
        instance: instance?.uuid ?? null,
        task_state: instance?.task_state ?? null,
        ...{ findings, steps },
      };
    },
    hosts: (from: readonly string[]) => forHosts(facts, request, from),
  };
}

function judgeMachine(
  { node, computes, instances, evacuations, queued }: OwnedMachine,
  { from, to }: HostPair,
  tenant: NodeTenant,
  driver: string,
): readonly Finding[] {
  const at = `compute node ${node}`;
  const [compute, ...more] = computes;
  const [instance, ...rest] = instances;
  const of = instance === undefined ? at : `instance ${instance.uuid}`;
  const isOther = (host: string | null | undefined): boolean =>
    host !== undefined && host !== from && host !== to;
  const rows = computes.map(({ id, owner }) => `compute_nodes.id=${id} of ${owner}`);
  const nameless = "it has no live compute node, and its name is not a uuid";
  const driven =
    compute === undefined
      ? !isUuid(node) && nameless
      : compute.hypervisor_type !== driver && `its hypervisor_type is ${compute.hypervisor_type}`;
  const hosts = `compute_nodes has ${compute?.owner ?? "no host"}, its instance ${instance?.host ?? "none"}`;
  const isElsewhere = more.length === 0 && (isOther(compute?.owner) || isOther(instance?.host));
  const sources = [...new Set(evacuations)].join(", ");
  return findingsOf([
    ["N2I-D262", at, more.length > 0 && `live rows ${rows.join(", ")}`],
    ["N2I-D269", at, driven],
    ["N2I-D261", at, rest.length > 0 && SENTENCES.instances],
    ["N2I-D268", at, isElsewhere && hosts],
    ["N2I-D263", of, evacuations.length > 0 && `migrations has one from ${sources}`],
    ["N2I-D265", at, ironicFault(instance, tenant)],
    ["N2I-D260", of, instance !== undefined && (busyText(instance, from) ?? false)],
    ...queued.map((request) => ["N2I-D266", of, requestText(request, from)] as const),
  ]);
}

function ironicFault(instance: Tenant | undefined, tenant: NodeTenant): string | false {
  if (tenant === undefined) return false;
  if (tenant === null) return "Ironic has no such node";
  const uuids = [tenant.instance_uuid, instance?.uuid] as const;
  return (
    !same(...uuids) &&
    `Ironic's node has ${uuids[0] ?? "none"}, Nova has ${uuids[1] ?? "none"} on it`
  );
}

function stepsOf(
  { node, computes, instances }: OwnedMachine,
  { from, to }: HostPair,
  { hosts }: MoveFacts,
): readonly NovaStep[] {
  const moving = computes.filter(({ owner }) => owner !== to);
  const bare = moving.map(({ owner, hypervisor_type, ...row }) => row);
  const { steps } = moveComputes({ uuid: node, service_host: from }, bare, hosts, to, "");
  if (from === to) return steps;
  // The task_state is cleared, because the host is down.
  const after = { host: to, task_state: null };
  const moved = instances.filter(({ host }) => host === from);
  return [
    ...steps,
    ...moved.map((one) => {
      const { host, task_state } = one;
      return instanceStep(one, node, { host, task_state }, after);
    }),
  ];
}

/** Also compares the instance's node. */
export function instanceStep(
  { id, uuid, node }: Pick<Tenant, "id" | "uuid" | "node">,
  machine: string,
  before: object,
  after: object,
): NovaStep {
  const common = { uuid, node, deleted: 0 };
  return {
    ...({ id: `instances:${id}`, part: "hosts", table: "instances", key: { id } } as const),
    before: { ...common, ...before },
    after: { ...common, ...after },
    ...{ machine, of: `instance ${uuid}` },
  };
}

function forHosts(
  { identity, hosts, mappings }: MoveFacts,
  { mode, reason }: MoveRequest,
  from: readonly string[],
) {
  const services = hosts.filter(({ host }) => from.includes(host));
  const oldHosts = from.map((name): OldHost => {
    const service = services.find(({ host }) => host === name);
    const { id = null, report_count = null, last_seen_up = null } = service ?? {};
    return { host: name, id, report_count, last_seen_up };
  });
  const unseen = mappings === undefined && hasMovedToApi(identity.schema_version);
  return {
    oldHosts,
    fence: mode === "takeover" ? services.flatMap((service) => fenceStep(service, reason)) : [],
    findings: findingsOf([
      ...from.map((host) => {
        const purge = `before its nova-compute is started again: rabbitmqctl purge_queue compute.${host}`;
        return ["N2I-D267", `compute host ${host}`, purge] as const;
      }),
      ...oldHosts.map(({ host, id }) => {
        const isMissing = mode === "takeover" && id === null;
        return ["N2I-D270", `compute host ${host}`, isMissing && noService(host)] as const;
      }),
      ["N2I-D259", "--nova-api-db", unseen && "it was not specified"],
    ]),
  };
}

/** Length of disabled_reason. */
const LONGEST = 255;

function fenceStep(service: ComputeHost, reason: string): readonly NovaStep[] {
  if (isFenced(service)) return [];
  const { id, host, disabled, disabled_reason, forced_down } = service;
  const [was, is] =
    forced_down === undefined
      ? [{ disabled }, { disabled: true }]
      : [{ forced_down }, { forced_down: true }];
  const common = { host, deleted: 0 };
  return [
    {
      ...({ id: `services:${id}`, part: "hosts", table: "services", key: { id } } as const),
      before: { ...common, ...was, disabled_reason },
      after: { ...common, ...is, disabled_reason: reason.slice(0, LONGEST) },
      ...{ machine: null, of: `nova-compute of ${host}` },
    },
  ];
}
