import type { JsonObject } from "./json.ts";

/** A network card of a node, or a bond of several. */
export interface Nic {
  readonly is: "port" | "portgroup";
  readonly uuid: string;
  /** MAC as Ironic has it: lower case, colons; null for a bond without one. */
  readonly address: string | null;
  /** Uuid of the Neutron port of its tenant; null where it has none. */
  readonly vif: string | null;
  /** Of a bond: `active-backup`; null for a port. */
  readonly mode: string | null;
}

/** A node of Ironic as those who give it a server record look at it. Fields are named as Ironic names them. */
export interface RunningNode {
  readonly uuid: string;
  readonly name: string | null;
  readonly power_state: string | null;
  readonly provision_state: string | null;
  readonly instance_uuid: string | null;
  readonly allocation_uuid: string | null;
  readonly resource_class: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  readonly retired: boolean;
  readonly last_error: string | null;
  readonly properties: JsonObject;
  readonly instance_info: JsonObject;
  readonly extra: JsonObject;
  readonly created_at: string | null;
  readonly nics: readonly Nic[];
}

/** A port of Neutron. Fields are named as Neutron names them. */
export interface NetworkPort {
  readonly id: string;
  /** Lower case, colons. */
  readonly mac_address: string;
  /** Empty where no server has it. */
  readonly device_id: string;
  readonly device_owner: string;
}

/** A node of the list: what stands against managing it, empty where nothing does. */
export interface AdoptableRow {
  readonly node: RunningNode;
  readonly whyNot: readonly string[];
}
