import { isObject } from "../../../lib/json.ts";
import { counted, show } from "../../../lib/text.ts";
import { accept, blocks, type Finding, finding, findingIf } from "../../../model/findings.ts";
import type { Machine, Row } from "../../../model/machine.ts";
import type { HostUse, NovaStep } from "../../../model/nova/nova-plan.ts";
import { refusesNewHosts } from "../../../model/nova/nova-release.ts";
import type { MachineRows, NovaTables } from "../../../model/nova/nova-rows.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import { type Transformed, withAccepted } from "../../transform/transform.ts";
import type { Choice } from "./choice.ts";
import { type HostGate, keepsInstance, queuedOf, same } from "./gate.ts";
import { aggregatesOf, computeHost, instanceStep, moveComputes, serviceStep } from "./steps.ts";

/**
 * Plans Nova rows that change their compute host: instances, compute nodes, services and
 * aggregates. Without `--compute-host`, no row changes.
 * @param gate compares the planned rows with the running nova-computes
 * @param at naive UTC, for rows that are created or deleted
 * @source facts/nova-bm.md 5.3; facts/systems.md A3, D4
 */
export function createHosts(tables: NovaTables, choice: Choice, gate: HostGate, at: string) {
  const memberships = aggregatesOf(tables, choice);
  const losses = new Map<string, HostLoss>();
  const reached = new Set<string>();
  const hosts = new Set<string>();
  const lossOf = (host: string, to: string) => {
    const loss = losses.get(host) ?? { instances: 0, computes: 0, to: new Set<string>() };
    losses.set(host, loss);
    loss.to.add(to);
    return loss;
  };
  return {
    judge: judging(tables, choice, memberships, gate),
    steps(line: PlannedMachine, rows: MachineRows): readonly NovaStep[] {
      if (!isLoaded(line)) return [];
      if (line.service_host !== null) hosts.add(line.service_host);
      // Any nova-compute that offers the machine acts on it, even under another host name.
      for (const row of rows.computes) hosts.add(computeHost(row, tables.services) ?? "");
      const node = nodeOf(line.records);
      const to = choice.of(line);
      if (to === null) return [];
      reached.add(to);
      const instance = instanceStep(line.uuid, node, rows.instance, to);
      const from = instance === null ? null : (rows.instance?.host ?? null);
      if (from !== null && from !== to) lossOf(from, to).instances += 1;
      const computes = moveComputes(line, rows.computes, tables.services, to, at);
      for (const host of computes.sources) lossOf(host, to).computes += 1;
      return [...(instance === null ? [] : [instance]), ...computes.steps];
    },
    sources: (): readonly string[] => [...losses.keys()].toSorted(),
    /** Hosts whose nova-compute must not run while rows change. */
    stopped: (): readonly string[] =>
      [...new Set([...hosts, ...losses.keys(), ...reached])]
        .filter((host) => host !== "")
        .toSorted(),
    /** Services and aggregates. Call it after the last machine. */
    end(use: ReadonlyMap<string, HostUse>) {
      const steps: NovaStep[] = [];
      const findings: Finding[] = [];
      for (const [host, loss] of losses) {
        const service = tables.services.findLast((one) => one.host === host);
        if (reached.has(host) || service === undefined) continue;
        // A service is disabled unless other machines remain on its host.
        const { instances: used = 0, computes: nodes = 0 } = use.get(host) ?? {};
        const instances = Math.max(0, used - loss.instances);
        const computes = Math.max(0, nodes - loss.computes);
        const rest = `${counted(instances, "instance")} and ${counted(computes, "compute node")} remain on it`;
        if (instances + computes === 0)
          steps.push(...serviceStep(service, [...loss.to].toSorted()));
        else findings.push(finding("N2I-D223", `services.id=${service.id} host ${host}`, rest));
      }
      for (const to of [...reached].toSorted()) {
        steps.push(...joining(memberships.missing(to), to, at));
        const isServed = tables.services.some(({ host }) => host === to);
        // Later Novas refuse to start its nova-compute, which is a finding of the machines.
        if (isServed || refusesNewHosts(tables.identity.head)) continue;
        const reason = "no live nova-compute service has this host";
        findings.push(finding("N2I-D224", `services host ${to}`, reason));
      }
      return { steps, findings };
    },
  };
}

interface HostLoss {
  instances: number;
  computes: number;
  readonly to: Set<string>;
}

function judging(
  tables: NovaTables,
  choice: Choice,
  memberships: ReturnType<typeof aggregatesOf>,
  gate: HostGate,
): (machine: Machine, made: Transformed, rows: MachineRows) => Transformed {
  const served = new Set(tables.services.map(({ host }) => host));
  return (machine, made, rows) => {
    const node = nodeOf(made.desired);
    const { instance, volumes } = rows;
    if (node === undefined)
      return made.blocked ? withAccepted(made, queuedOf(machine, rows, made.findings)) : made;
    const { id, service_host } = machine.node;
    const where = `bm_nodes.id=${id}`;
    const at = `${where} instance ${instance?.uuid}`;
    const to = choice.of({ service_host, records: made.desired });
    const attached = instance === null ? [] : volumes;
    const some = `${attached.length} attached: ${attached.slice(0, 5).join(", ")}`;
    const found = accept(
      [
        ...findingIf(attached.length > 0, "N2I-D220", at, some),
        ...queuedOf(machine, rows, made.findings),
        ...changesIn(machine, rows, to),
        ...(instance === null || to === null ? [] : memberships.judge(instance, to)),
        ...(to === null
          ? foreignGuests(service_host ?? "", where, tables)
          : movedTo(to, node, served.has(to), where, tables)),
      ],
      made.accept,
    );
    const host = to ?? service_host;
    const isServed = to !== null || served.has(service_host ?? "");
    const runs = { host, isServed, loads: !found.some(blocks) };
    const isHere =
      instance !== null && (instance.deleted ?? 0) === 0 && keepsInstance(node, instance);
    const step = isHere && to !== null && instanceStep(machine.node.uuid, node, instance, to);
    const moved = { host: to, node: String(node.uuid) };
    const faults = isHere ? gate(machine, { ...instance, ...(step && moved) }, runs) : [];
    const isElsewhere = isHere && faults.length === 0 && to !== null && rows.elsewhere;
    const other = `instances.node is ${show(instance?.node ?? "")}`;
    const elsewhere = findingIf(isElsewhere, "N2I-D226", at, other);
    return onHost(withAccepted(made, [...found, ...faults, ...elsewhere]), to);
  };
}

/** Later Novas write the instance's host to Ironic. A moved row must not name the old host. */
function onHost(made: Transformed, to: string | null): Transformed {
  if (to === null) return made;
  const desired = made.desired.map((record) => {
    const { instance_info: info } = record.row;
    if (!isObject(info) || typeof info.nova_host_id !== "string") return record;
    return { ...record, row: { ...record.row, instance_info: { ...info, nova_host_id: to } } };
  });
  return { ...made, desired };
}

/** The new host has hypervisors of other drivers, or Nova would refuse to start its nova-compute. */
function movedTo(
  to: string,
  { instance_uuid }: Row,
  isServed: boolean,
  where: string,
  { foreign, identity }: NovaTables,
): readonly Finding[] {
  const types = foreign.get(to) ?? [];
  const has = `${show(to)} has compute nodes of ${types.map(show).join(", ")}`;
  const isUsed = typeof instance_uuid === "string";
  const isRefused = isUsed && !isServed && refusesNewHosts(identity.head);
  const none = `no nova-compute service is called ${show(to)}`;
  return [
    ...findingIf(types.length > 0, "N2I-D242", where, has),
    ...findingIf(isRefused, "N2I-D244", where, none),
  ];
}

/**
 * If the host stays, its nova-compute changes to Ironic and does not manage other guests. It
 * deletes compute nodes of another hypervisor that have no guests.
 * @source facts/nova-bm.md 5.2
 */
function foreignGuests(
  host: string,
  where: string,
  { foreign, guests }: NovaTables,
): readonly Finding[] {
  const count = guests.get(host) ?? 0;
  const of = (foreign.get(host) ?? []).map(show).join(", ");
  const message = `${show(host)} is kept, and has ${counted(count, "live instance")} on compute nodes of ${of}`;
  return findingIf(count > 0, "N2I-D242", where, message);
}

/** Columns of the instance that decide its outcome. */
const WATCHED = ["host", "node", "task_state"] as const;

/** @param to the planned host. This run changed a row that already has this host and its node */
function changesIn(
  { node, nova }: Machine,
  { instance }: MachineRows,
  to: string | null,
): readonly Finding[] {
  const before = nova?.instance ?? null;
  if (nova === null || node.instance_uuid === null) return [];
  const location = `bm_nodes.id=${node.id} instance ${node.instance_uuid}`;
  if (before === null || instance === null) {
    const now = instance === null ? "the row was deleted" : "the row was created since";
    return findingIf((before === null) !== (instance === null), "N2I-D222", location, now);
  }
  const planned = { host: instance.host === to, node: same(instance.node, node.uuid) };
  const changed: string[] = WATCHED.filter(
    (column) =>
      before[column] !== instance[column] &&
      (column === "task_state" || to === null || !planned[column]),
  );
  if (before.deleted !== (instance.deleted !== 0 && instance.deleted !== null))
    changed.push("deleted");
  const what = `changed since extract: ${changed.join(", ")}`;
  return findingIf(changed.length > 0, "N2I-D222", location, what);
}

function joining(missing: readonly number[], host: string, at: string): readonly NovaStep[] {
  return missing.map((aggregate_id) => {
    const key = { host, aggregate_id, deleted: 0 };
    return {
      id: `aggregate_hosts:${aggregate_id}/${host}`,
      part: "hosts",
      table: "aggregate_hosts",
      key,
      before: null,
      after: { ...key, created_at: at, updated_at: null, deleted_at: null },
      machine: null,
      of: `host ${host} in aggregate ${aggregate_id}`,
    };
  });
}
