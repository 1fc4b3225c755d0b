import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";

/** A network card of a node, or a bond of several. */
export interface Nic {
  readonly is: "port" | "portgroup";
  readonly uuid: string;
  /** MAC as Ironic has it: lower case, colons; null for a bond without one. */
  readonly address: string | null;
  /** Uuid of the Neutron port of its tenant; null where it has none. */
  readonly vif: string | null;
}

/** Ids of Neutron ports, case-insensitive. */
export interface PortIds {
  readonly size: number;
  readonly has: (id: string) => boolean;
  readonly values: () => Iterable<string>;
}

/** The cards of all nodes. */
export interface KnownNics {
  /** The cards of a node, by its uuid. */
  readonly of: (node: string) => readonly Nic[];
  /** Neutron ports that nics name, and those that more than one names. */
  readonly vifs: PortIds;
  readonly twice: ReadonlySet<string>;
}

/** @returns what is known of the cards that were put there */
export function gatherNics(): KnownNics & { readonly put: (node: string, nic: Nic) => void } {
  const byNode = new Map<string, Nic[]>();
  /** As written, by their lower case. */
  const vifs = new Map<string, string>();
  const twice = new Set<string>();
  return {
    put(node, nic) {
      const id = node.toLowerCase();
      byNode.set(id, [...(byNode.get(id) ?? []), nic]);
      if (nic.vif === null) return;
      const vif = nic.vif.toLowerCase();
      if (vifs.has(vif)) twice.add(nic.vif);
      else vifs.set(vif, nic.vif);
    },
    of: (node) => byNode.get(node.toLowerCase()) ?? [],
    vifs: {
      get size() {
        return vifs.size;
      },
      has: (vif) => vifs.has(vif.toLowerCase()),
      values: () => vifs.values(),
    },
    twice,
  };
}

/**
 * The tenant's Neutron port of a card: the first is written by an attach, the second by hand.
 *
 * @source ironic: common/network.py
 */
export function vifOf(internal_info: Json | undefined, extra: Json | undefined): string | null {
  const named = (info: Json | undefined, key: string): string | null => {
    const value = objectOf(info)[key];
    return typeof value === "string" && value !== "" ? value.toLowerCase() : null;
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
  | "instance_uuid"
  | "resource_class"
  | "instance_info"
  | "extra"
  | "maintenance"
  | "maintenance_reason"
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

/** Ports of Neutron by their id. */
export type NetworkPorts = Pick<ReadonlyMap<string, NetworkPort>, "get" | "has">;

/** A node of the list: what stands against managing it, empty where nothing does. */
export interface AdoptableRow {
  readonly node: RunningNode;
  readonly whyNot: readonly string[];
}
