import { type Json, type JsonObject, objectOf } from "./json.ts";

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

/** What is known of the cards of all nodes. */
export interface KnownNics {
  /** By the uuid of their node. */
  readonly of: Map<string, Nic[]>;
  /** Neutron ports that nics name, each once, and those that more than one names. */
  readonly vifs: Set<string>;
  readonly twice: Set<string>;
}

export function noNics(): KnownNics {
  return { of: new Map(), vifs: new Set(), twice: new Set() };
}

/** Puts a card to the others of its node. */
export function addNic({ of, vifs, twice }: KnownNics, node: string, nic: Nic): void {
  const others = of.get(node);
  if (others === undefined) of.set(node, [nic]);
  else others.push(nic);
  if (nic.vif === null) return;
  if (vifs.has(nic.vif)) twice.add(nic.vif);
  vifs.add(nic.vif);
}

/**
 * The tenant's Neutron port of a card: the first is written by an attach, the second by hand.
 *
 * @source ironic: common/network.py
 */
export function vifOf(internal_info: Json | undefined, extra: Json | undefined): string | null {
  const named = (info: Json | undefined, key: string): string | null => {
    const value = objectOf(info)[key];
    return typeof value === "string" && value !== "" ? value : null;
  };
  return named(internal_info, "tenant_vif_port_id") ?? named(extra, "vif_port_id");
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

/** What a node is compared by before and after it has its record; conductors write the rest at any time. */
export type ComparedNode = Pick<
  RunningNode,
  "instance_uuid" | "resource_class" | "instance_info" | "extra"
>;

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
