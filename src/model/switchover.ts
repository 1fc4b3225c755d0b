import type { Json, JsonObject } from "../lib/json.ts";
import type { RefusalCode } from "../lib/refusals.ts";

/** A node of Ironic with what hangs on it, as a switchover looks at it. Members are named as Ironic names them. */
export interface WholeNode {
  readonly uuid: string;
  readonly name: string | null;
  /** Every field of the node as Ironic tells it, `traits` too; Ironic masks the secrets of driver_info. */
  readonly told: JsonObject;
  /** With `in_portgroup`, which is ours: whether it has a portgroup_uuid. */
  readonly ports: readonly JsonObject[];
  readonly portgroups: readonly JsonObject[];
  readonly connectors: readonly VolumeConnector[];
  readonly targets: readonly VolumeTarget[];
}

export interface VolumeConnector {
  readonly uuid: string;
  /** `iqn`, `ip`, `wwpn`, `wwnn`, `mac`, `port`, `portgroup`. */
  readonly type: string;
  readonly connector_id: string;
}

/** Without its properties, which hold secrets. */
export interface VolumeTarget {
  readonly uuid: string;
  /** `iscsi`, `fibre_channel`; whatever somebody wrote. */
  readonly volume_type: string;
  readonly boot_index: number | null;
  readonly volume_id: string;
}

/** What must be equal of two nodes. @source mappings/schema/identical.schema.json */
export interface IdenticalDoc {
  readonly fields: readonly IdenticalField[];
}

export interface IdenticalField {
  /** A field, or a path into one. */
  readonly field: string;
  readonly as: "text" | "number" | "capabilities" | "set" | "list";
  /** Of a list: the members of each thing that are compared. */
  readonly of?: readonly string[];
  /** Of capabilities: those that are not compared. */
  readonly ignore?: readonly string[];
  /** Only where both nodes have it; absent: always. */
  readonly when?: "both";
}

/** A field that two nodes do not have alike; values without secrets, null where there is none. */
export interface HardwareDifference {
  readonly field: string;
  readonly source: Json;
  readonly destination: Json;
}

/** What stands against a node as source or as destination. */
export interface SwitchFault {
  readonly code: RefusalCode;
  readonly why: string;
}

/** Machines that are identical, and the spares that one of them could go on in. */
export interface SpareClass {
  /** The first of them. */
  readonly example: WholeNode;
  readonly machines: number;
  /** In the order in which they are taken. */
  readonly candidates: readonly WholeNode[];
  /** Of the spares that do not fit the one that differs least; null where there is none. */
  readonly nearest: { readonly spare: WholeNode; readonly why: string } | null;
}
