import { capabilitiesOf } from "../../lib/capabilities.ts";
import { isObject, type JsonObject } from "../../lib/json.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import { counted } from "../../lib/text.ts";
import type { SwitchFault, VolumeConnector, WholeNode } from "../../model/switchover.ts";
import { SWITCH_MARK } from "./switching.ts";

/** Connectors of the hardware stay with the node. Others belong to the instance. */
const OF_HARDWARE: ReadonlySet<string> = new Set(["wwpn", "wwnn", "mac"]);

function stays({ type }: VolumeConnector): boolean {
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

type Criterion = readonly [RefusalCode, (node: WholeNode) => string | null];

const BUSY: readonly Criterion[] = [
  [
    "N2I-E380",
    // Ironic's text, which clients parse.
    ({ uuid, told: { reservation } }) =>
      typeof reservation === "string"
        ? `Node ${uuid} is locked by host ${reservation}, please retry after the current operation is completed.`
        : null,
  ],
  [
    "N2I-E380",
    ({ told: { target_provision_state: goal, target_power_state: power } }) => {
      const on = [goal, power].filter((one) => typeof one === "string" && one !== "");
      return on.length === 0 ? null : `it is changing to ${on.join(" and ")}`;
    },
  ],
];

const MARKED: Criterion = [
  "N2I-E381",
  ({ told: { extra } }) => {
    const mark = isObject(extra) ? extra[SWITCH_MARK] : null;
    return typeof mark === "string" ? `it is in switchover ${mark}: extra.${SWITCH_MARK}` : null;
  },
];

const SOURCE: readonly Criterion[] = [
  ...BUSY,
  MARKED,
  [
    "N2I-E382",
    // With `cinder`, Ironic attaches the volumes itself.
    ({ told: { storage_interface } }) =>
      storage_interface === "external"
        ? null
        : `its storage_interface is ${String(storage_interface)}, not external`,
  ],
  [
    "N2I-E382",
    ({ targets }) => {
      const roots = targets.filter(isRoot).length;
      if (roots === 1) return null;
      return roots === 0
        ? "no volume has boot_index 0"
        : `${counted(roots, "volume has", "volumes have")} boot_index 0`;
    },
  ],
  [
    "N2I-E382",
    ({ targets }) => {
      const other = targets.find(({ volume_type }) => !KINDS.has(volume_type));
      return other === undefined ? null : `volumes of type ${other.volume_type} are not moved`;
    },
  ],
  [
    "N2I-E382",
    (node) => {
      const { capability } = kindOf(node) ?? {};
      const given = capabilitiesOf(propertiesOf(node).capabilities ?? null);
      const has = capability === undefined || !["false", undefined].includes(given.get(capability));
      return has ? null : `it lacks the capability ${capability}`;
    },
  ],
  [
    "N2I-E382",
    (node) => {
      const { connector } = kindOf(node) ?? {};
      const has = connector === undefined || node.connectors.some(({ type }) => type === connector);
      return has ? null : `it has no volume connector of type ${connector}`;
    },
  ],
  ["N2I-E383", stateOtherThan("active")],
  ["N2I-E383", ({ told }) => (told.protected === true ? "it is protected" : null)],
];

const DESTINATION: readonly Criterion[] = [
  ...BUSY,
  MARKED,
  ["N2I-E384", stateOtherThan("manageable", "enroll")],
  [
    "N2I-E384",
    ({ told: { maintenance, maintenance_reason: why } }) =>
      maintenance === true
        ? `it is in maintenance${typeof why === "string" ? `: ${why}` : ""}`
        : null,
  ],
  ["N2I-E384", ({ told }) => (told.retired === true ? "it is retired" : null)],
  [
    "N2I-E384",
    ({ told: { instance_uuid: instance } }) =>
      typeof instance === "string" ? `it has instance ${instance}` : null,
  ],
  [
    "N2I-E384",
    ({ told: { allocation_uuid: allocation, instance_uuid } }) =>
      typeof allocation === "string" && allocation !== instance_uuid
        ? `it has allocation ${allocation}`
        : null,
  ],
  [
    "N2I-E384",
    ({ told: { instance_info } }) =>
      isObject(instance_info) && "image_source" in instance_info
        ? "its instance_info has an image_source: Ironic would write that image"
        : null,
  ],
  [
    "N2I-E384",
    ({ targets }) =>
      targets.length > 0 ? `it has ${counted(targets.length, "volume target")}` : null,
  ],
];

function ownConnector({ connectors }: WholeNode): readonly SwitchFault[] {
  const own = connectors.find((one) => !stays(one));
  if (own === undefined) return [];
  return [{ code: "N2I-E384", why: `it already has a volume connector of type ${own.type}` }];
}

/** In the order of their report. */
export function sourceFaults(node: WholeNode): readonly SwitchFault[] {
  return faults(SOURCE, node);
}

export function spareFaults(node: WholeNode): readonly SwitchFault[] {
  return [...faults(DESTINATION, node), ...ownConnector(node)];
}

function faults(criteria: readonly Criterion[], node: WholeNode): readonly SwitchFault[] {
  return criteria.flatMap(([code, fails]) => {
    const why = fails(node);
    return why === null ? [] : [{ code, why }];
  });
}

/** Whether the fault is temporary. */
export function isLocked({ code }: SwitchFault): boolean {
  return code === "N2I-E380" || code === "N2I-E381";
}

function stateOtherThan(...states: readonly string[]): Criterion[1] {
  return ({ told: { provision_state } }) =>
    states.includes(String(provision_state))
      ? null
      : `it is ${typeof provision_state === "string" ? provision_state : "in no state"}, not ${states.join(" or ")}`;
}

export function bootsFromVolume({ targets, told }: WholeNode): boolean {
  return targets.some(isRoot) && STORAGE.has(told.storage_interface);
}

function isRoot({ boot_index }: WholeNode["targets"][number]): boolean {
  return boot_index === 0;
}

function kindOf({ targets }: WholeNode) {
  return KINDS.get(targets.find(isRoot)?.volume_type ?? "");
}

function propertiesOf({ told: { properties } }: WholeNode): JsonObject {
  return isObject(properties) ? properties : {};
}

export function movingConnectors({ connectors }: WholeNode): readonly VolumeConnector[] {
  return connectors.filter((one) => !stays(one));
}

export function stayingConnectors({ connectors }: WholeNode): readonly string[] {
  return connectors
    .filter(stays)
    .map(({ type }) => type)
    .toSorted();
}
