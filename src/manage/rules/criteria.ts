import { isObject, type Json } from "../../lib/json.ts";
import type {
  ComparedNode,
  NetworkPort,
  NetworkPorts,
  RunningNode,
} from "../../model/ironic/manage.ts";

export interface PortFacts {
  /** Neutron's ports by id; null: the location of Neutron is unknown. */
  readonly ports: NetworkPorts | null;
  /** Neutron ports attached to more than one NIC of any node. */
  readonly duplicates: ReadonlySet<string>;
  /** Neutron ports in the request; absent: all VIFs of the node. */
  readonly selected?: ReadonlySet<string>;
}

/** Mark in the node's `extra` while its record is created: the uuid of the record. */
export const MARK = "nova2ironic_manage";

/** The node's state, a resource in use by others, a missing resource, or missing permission. */
export type FaultKind = "state" | "taken" | "gone" | "denied";

export interface Rejection {
  readonly reason: string;
  readonly is: FaultKind;
}

/** A last error is only reported. @source facts/systems.md C1, Criteria */
const CRITERIA: readonly ((node: RunningNode) => string | null)[] = [
  ({ provision_state }) =>
    provision_state === "active" ? null : `it is ${provision_state ?? "in no state"}, not active`,
  ({ instance_uuid }) =>
    instance_uuid === null ? null : `it already has instance ${instance_uuid}`,
  ({ allocation_uuid, instance_uuid }) =>
    allocation_uuid === null || allocation_uuid === instance_uuid
      ? null
      : `it has allocation ${allocation_uuid}`,
  ({ resource_class }) => (resource_class === null ? "it has no resource class" : null),
  maintained,
  ({ retired }) => (retired ? "it is retired" : null),
];

function maintained({ maintenance, maintenance_reason }: ComparedNode): string | null {
  if (!maintenance) return null;
  return `it is in maintenance${maintenance_reason === null ? "" : `: ${maintenance_reason}`}`;
}

function marked(
  { extra: { [MARK]: mark } }: ComparedNode,
  runMark: string | null,
): readonly Rejection[] {
  if (typeof mark !== "string" || mark === runMark) return [];
  return [{ reason: `it is being managed: extra.${MARK} is ${mark}`, is: "taken" }];
}

/** Every failed criterion; empty if the node can be managed. */
export function rejectionReasons(
  node: RunningNode,
  portFacts: PortFacts,
  runMark: string | null = null,
): readonly string[] {
  return faultsIn(node, portFacts, runMark).map(({ reason }) => reason);
}

/**
 * As `rejectionReasons`, with the kind of each reason.
 *
 * @param mark uuid of a record started for the node, whose own changes are accepted
 */
export function faultsIn(
  node: RunningNode,
  portFacts: PortFacts,
  mark: string | null = null,
): readonly Rejection[] {
  const whys = CRITERIA.flatMap((fails) => fails(node) ?? []);
  const found = [
    ...whys.map((reason) => ({ reason, is: "state" as const })),
    ...marked(node, mark),
    ...node.nics.flatMap(({ vif }) => (vif === null ? [] : vifFaults(node, vif, portFacts, mark))),
  ];
  return [...new Map(found.map((one) => [one.reason, one])).values()];
}

/** Maintenance or a mark that another user set on a node without our mark. */
export function claimsOn(node: ComparedNode, runMark: string): readonly Rejection[] {
  const maintenance = maintained(node);
  return [
    ...(maintenance === null ? [] : [{ reason: maintenance, is: "state" as const }]),
    ...marked(node, runMark),
  ];
}

/** Changes of fields that the record depends on. Conductors change other fields at any time. */
export function changedSince(before: ComparedNode, now: ComparedNode): readonly Rejection[] {
  const judged = ({ instance_uuid, resource_class, instance_info, extra }: ComparedNode) => {
    const { [MARK]: _mark, ...otherExtra } = extra;
    // Traits are saved when the node is marked, and restored from that copy.
    const { traits: _traits, ...rest } = instance_info;
    return { instance_uuid, resource_class, instance_info: rest, extra: otherExtra };
  };
  const then = new Map(Object.entries(judged(before)));
  const changed = Object.entries(judged(now)).flatMap(([field, value]) =>
    sorted(then.get(field) ?? null) === sorted(value) ? [] : [field],
  );
  if (changed.length === 0) return [];
  return [{ reason: `${changed.join(", ")} changed since it was read`, is: "taken" }];
}

function sorted(value: Json): string {
  return JSON.stringify(value, (_key, one: Json) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).toSorted()) : one,
  );
}

function vifFaults(
  node: RunningNode,
  vif: string,
  { ports, duplicates, selected }: PortFacts,
  runMark: string | null,
): readonly Rejection[] {
  const fail = (is: FaultKind, fault: string): Rejection => ({ reason: `VIF ${vif} ${fault}`, is });
  const faults: Rejection[] = [];
  if (selected?.has(vif) === false)
    faults.push(fail("state", "is attached to it, but not in the request"));
  if (duplicates.has(vif)) faults.push(fail("taken", "is attached to more than one port"));
  const port = ports?.get(vif);
  if (ports === null) faults.push(fail("state", "cannot be read: no endpoint of Neutron is known"));
  else if (port === undefined) faults.push(fail("gone", "is not in Neutron"));
  else for (const reason of portFaults(node, port, runMark)) faults.push(fail("taken", reason));
  return faults;
}

function portFaults(
  { uuid, nics }: RunningNode,
  { mac_address, device_id, device_owner }: NetworkPort,
  runMark: string | null,
): readonly string[] {
  const addresses = nics.flatMap(({ address }) => address ?? []);
  return [
    ...(addresses.includes(mac_address)
      ? []
      : [`has MAC ${mac_address}, but the node has ${addresses.join(", ") || "none"}`]),
    ...(["", uuid, runMark].includes(device_id)
      ? []
      : [`belongs to ${device_owner || "device"} ${device_id}`]),
  ];
}
