import { capabilitiesOf } from "../../lib/capabilities.ts";
import { objectOf } from "../../lib/json.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import { counted } from "../../lib/text.ts";
import type { NodeDetail, SwitchFault, VolumeConnector } from "../../model/switchover.ts";
import { SWITCH_MARK } from "./switching.ts";

/** Hardware connectors stay with the node. Other connectors belong to the instance. */
const OF_HARDWARE: ReadonlySet<string> = new Set(["wwpn", "wwnn", "mac"]);

function isOfHardware({ type }: VolumeConnector): boolean {
  return OF_HARDWARE.has(type);
}

/**
 * @source ironic: drivers/modules/deploy_utils.py, populate_storage_driver_internal_info;
 * drivers/modules/storage/cinder.py, validate
 */
const KINDS = new Map([
  ["iscsi", { capability: "iscsi_boot", connector: "iqn" }],
  ["fibre_channel", { capability: "fibre_channel_boot", connector: "wwpn" }],
]);

const STORAGE: ReadonlySet<unknown> = new Set(["cinder", "external"]);

/** Why the node cannot be used, or null. */
type Criterion = (node: NodeDetail) => string | null;

/** Each of these criteria, with the code of its fault. */
function coded(code: RefusalCode, ...criteria: readonly Criterion[]) {
  return criteria.map((fails) => (node: NodeDetail): readonly SwitchFault[] => {
    const reason = fails(node);
    return reason === null ? [] : [{ code, reason }];
  });
}

const LOCKED = [
  ...coded(
    "N2I-E380",
    // Ironic's text, which clients parse.
    ({ uuid, body: { reservation } }) =>
      typeof reservation === "string"
        ? `Node ${uuid} is locked by host ${reservation}, please retry after the current operation is completed.`
        : null,
    ({ body: { target_provision_state: goal, target_power_state: power } }) => {
      const on = [goal, power].filter((one) => typeof one === "string" && one !== "");
      return on.length === 0 ? null : `it is changing to ${on.join(" and ")}`;
    },
  ),
  ...coded("N2I-E381", ({ body: { extra } }) => {
    const mark = objectOf(extra)[SWITCH_MARK];
    return typeof mark === "string" ? `it is in switchover ${mark}: extra.${SWITCH_MARK}` : null;
  }),
];

const SOURCE = [
  ...LOCKED,
  ...coded(
    "N2I-E382",
    // With `cinder`, Ironic attaches the volumes itself.
    ({ body: { storage_interface } }) =>
      storage_interface === "external"
        ? null
        : `its storage_interface is ${String(storage_interface)}, not external`,
    ({ targets }) => {
      const roots = targets.filter(isRoot).length;
      if (roots === 1) return null;
      return roots === 0
        ? "no volume has boot_index 0"
        : `${counted(roots, "volume has", "volumes have")} boot_index 0`;
    },
    ({ targets }) => {
      const other = targets.find(({ volume_type }) => !KINDS.has(volume_type));
      return other === undefined ? null : `volumes of type ${other.volume_type} are not moved`;
    },
    (node) => {
      const { capability } = kindOf(node) ?? {};
      if (capability === undefined) return null;
      const capabilities = capabilitiesOf(objectOf(node.body.properties).capabilities ?? null);
      const has = !["false", undefined].includes(capabilities.get(capability));
      return has ? null : `it lacks the capability ${capability}`;
    },
    (node) => {
      const { connector } = kindOf(node) ?? {};
      const has = connector === undefined || node.connectors.some(({ type }) => type === connector);
      return has ? null : `it has no volume connector of type ${connector}`;
    },
  ),
  ...coded("N2I-E383", stateOtherThan("active"), ({ body }) =>
    body.protected === true ? "it is protected" : null,
  ),
];

const DESTINATION = [
  ...LOCKED,
  ...coded(
    "N2I-E384",
    stateOtherThan("manageable", "enroll"),
    ({ body: { maintenance, maintenance_reason: reason } }) =>
      maintenance === true
        ? `it is in maintenance${typeof reason === "string" ? `: ${reason}` : ""}`
        : null,
    ({ body }) => (body.retired === true ? "it is retired" : null),
    ({ body: { instance_uuid: instance } }) =>
      typeof instance === "string" ? `it has instance ${instance}` : null,
    ({ body: { allocation_uuid: allocation, instance_uuid } }) =>
      typeof allocation === "string" && allocation !== instance_uuid
        ? `it has allocation ${allocation}`
        : null,
    ({ body: { instance_info } }) =>
      "image_source" in objectOf(instance_info)
        ? "its instance_info has an image_source: Ironic would write that image"
        : null,
    ({ targets }) =>
      targets.length > 0 ? `it has ${counted(targets.length, "volume target")}` : null,
    (node) => {
      const [one] = movingConnectors(node);
      return one === undefined ? null : `it already has a volume connector of type ${one.type}`;
    },
  ),
];

/** In the order of their report. */
export function sourceFaults(node: NodeDetail): readonly SwitchFault[] {
  return SOURCE.flatMap((faultsOf) => faultsOf(node));
}

export function spareFaults(node: NodeDetail): readonly SwitchFault[] {
  return DESTINATION.flatMap((faultsOf) => faultsOf(node));
}

/** Whether the fault is temporary. */
export function isLocked({ code }: SwitchFault): boolean {
  return code === "N2I-E380" || code === "N2I-E381";
}

function stateOtherThan(...states: readonly string[]): Criterion {
  return ({ body: { provision_state } }) =>
    states.includes(String(provision_state))
      ? null
      : `it is ${typeof provision_state === "string" ? provision_state : "in no state"}, not ${states.join(" or ")}`;
}

export function bootsFromVolume({ targets, body }: NodeDetail): boolean {
  return targets.some(isRoot) && STORAGE.has(body.storage_interface);
}

function isRoot({ boot_index }: NodeDetail["targets"][number]): boolean {
  return boot_index === 0;
}

function kindOf({ targets }: NodeDetail) {
  return KINDS.get(targets.find(isRoot)?.volume_type ?? "");
}

export function movingConnectors({ connectors }: NodeDetail): readonly VolumeConnector[] {
  return connectors.filter((one) => !isOfHardware(one));
}

export function stayingConnectors({ connectors }: NodeDetail): readonly string[] {
  return connectors
    .filter(isOfHardware)
    .map(({ type }) => type)
    .toSorted();
}
