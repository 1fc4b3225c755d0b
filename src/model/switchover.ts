import type { Json, JsonObject } from "../lib/json.ts";
import type { RefusalCode } from "../lib/refusals.ts";

/** An Ironic node with its children. Field names are Ironic's. */
export interface NodeDetail {
  readonly uuid: string;
  readonly name: string | null;
  /** Every field of the node, including `traits`. Ironic masks the secrets of driver_info. */
  readonly body: JsonObject;
  /** Each port has an extra field, `in_portgroup`: whether the port has a portgroup_uuid. */
  readonly ports: readonly JsonObject[];
  readonly portgroups: readonly JsonObject[];
  readonly connectors: readonly VolumeConnector[];
  /** Without their properties, which have secrets. */
  readonly targets: readonly {
    readonly uuid: string;
    /** `iscsi`, `fibre_channel`, or any other text. */
    readonly volume_type: string;
    readonly boot_index: number | null;
    readonly volume_id: string;
  }[];
}

export interface VolumeConnector {
  readonly uuid: string;
  /** `iqn`, `ip`, `wwpn`, `wwnn`, `mac`, `port`, `portgroup`. */
  readonly type: string;
  readonly connector_id: string;
}

/** Fields that must be equal. @source mappings/schema/identical.schema.json */
export interface IdenticalDoc {
  readonly fields: readonly IdenticalField[];
}

export interface IdenticalField {
  readonly field: string;
  readonly as: "text" | "number" | "capabilities" | "set" | "list";
  readonly of?: readonly string[];
  readonly ignore?: readonly string[];
  readonly when?: "both";
}

/** A differing field. Values without secrets, null if missing. */
export interface HardwareDifference {
  readonly field: string;
  readonly source: Json;
  readonly destination: Json;
}

export interface SwitchFault {
  readonly code: RefusalCode;
  readonly reason: string;
}

/** Identical machines and their spares. */
export interface SpareClass {
  readonly example: NodeDetail;
  readonly machines: number;
  /** In order of preference. */
  readonly candidates: readonly NodeDetail[];
  readonly nearest: { readonly spare: NodeDetail; readonly reason: string } | null;
}
