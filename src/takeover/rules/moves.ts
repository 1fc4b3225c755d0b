import { isUuid } from "../../lib/uuid.ts";
import { same } from "../../migrate/hosts/rules/gate.ts";
import { moveComputes } from "../../migrate/hosts/rules/steps.ts";
import {
  type Acceptance,
  accept,
  blocks,
  type Finding,
  finding,
  findingIf,
} from "../../model/findings.ts";
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
  isFenced,
  judgeHosts,
  type MoveFacts,
  type MoveRequest,
  noService,
  SENTENCES,
} from "./move-hosts.ts";
import { destination } from "./successors.ts";

type HostPair = Pick<PlannedMove, "from" | "to">;

/**
 * @param acceptances the acceptances of a machine in the site document
 * @source facts/systems.md A1, A5; facts/systems-measured.md A1+, A2+
 */
export function createMoves(
  facts: MoveFacts,
  request: MoveRequest,
  acceptances: (machine: string, from: string) => readonly Acceptance[],
) {
  return {
    /** @param tenant the node's instance in Ironic */
    machine(machine: OwnedMachine, from: string, tenant: NodeTenant): PlannedMove {
      // A destination that already has the machine or its compute node keeps it.
      const serves = [from, machine.computes[0]?.owner].find((one) =>
        request.to.includes(one ?? ""),
      );
      const to = serves ?? destination(machine.node, request.to);
      const accepted = acceptances(machine.node, from);
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
  const isExpectedHost = (host: string | null | undefined): boolean =>
    host === undefined || host === from || host === to;
  const instanceHost = instance?.host;
  const busy = instance === undefined ? null : busyText(instance, from);
  return [
    ...findingIf(
      more.length > 0,
      "N2I-D262",
      at,
      `live rows ${computes.map(({ id, owner }) => `compute_nodes.id=${id} of ${owner}`).join(", ")}`,
    ),
    ...findingIf(
      compute === undefined ? !isUuid(node) : compute.hypervisor_type !== driver,
      "N2I-D269",
      at,
      compute === undefined
        ? "it has no live compute node, and its name is not a uuid"
        : `its hypervisor_type is ${compute.hypervisor_type}`,
    ),
    ...findingIf(rest.length > 0, "N2I-D261", at, SENTENCES.instances),
    ...findingIf(
      more.length === 0 && (!isExpectedHost(compute?.owner) || !isExpectedHost(instanceHost)),
      "N2I-D268",
      at,
      `compute_nodes has ${compute?.owner ?? "no host"}, its instance ${instanceHost ?? "none"}`,
    ),
    ...findingIf(
      evacuations.length > 0,
      "N2I-D263",
      of,
      `migrations has one from ${[...new Set(evacuations)].join(", ")}`,
    ),
    ...judgeIronic(node, instance, tenant),
    ...findingIf(busy !== null, "N2I-D260", of, busy ?? ""),
    ...queued.map((request) => finding("N2I-D266", of, requestText(request, from))),
  ];
}

function judgeIronic(
  node: string,
  instance: Tenant | undefined,
  tenant: NodeTenant,
): readonly Finding[] {
  if (tenant === undefined) return [];
  const at = `compute node ${node}`;
  if (tenant === null) return [finding("N2I-D265", at, "Ironic has no such node")];
  return findingIf(
    !same(tenant.instance_uuid, instance?.uuid),
    "N2I-D265",
    at,
    `Ironic's node has ${tenant.instance_uuid ?? "none"}, Nova has ${instance?.uuid ?? "none"} on it`,
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
    findings: [
      ...from.map((host) =>
        finding(
          "N2I-D267",
          `compute host ${host}`,
          `before its nova-compute is started again: rabbitmqctl purge_queue compute.${host}`,
        ),
      ),
      ...oldHosts.flatMap(({ host, id }) =>
        findingIf(
          mode === "takeover" && id === null,
          "N2I-D270",
          `compute host ${host}`,
          noService(host),
        ),
      ),
      ...findingIf(unseen, "N2I-D259", "--nova-api-db", "it was not specified"),
    ],
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
