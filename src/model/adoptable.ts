import { type Json, type JsonObject, objectOf } from "./json.ts";
import { type Ids, index, MANY, metMany, pack } from "./packed.ts";

/** A network card of a node, or a bond of several. */
export interface Nic {
  readonly is: "port" | "portgroup";
  readonly uuid: string;
  /** MAC as Ironic has it: lower case, colons; null for a bond without one. */
  readonly address: string | null;
  /** Uuid of the Neutron port of its tenant; null where it has none. */
  readonly vif: string | null;
}

/** What is known of the cards of all nodes: some hundred bytes a card, of fifty thousand nodes too. */
export interface KnownNics {
  /** The cards of a node, by its uuid. */
  readonly of: (node: string) => readonly Nic[];
  /** Neutron ports that nics name, and those that more than one names. */
  readonly vifs: Ids;
  readonly twice: ReadonlySet<string>;
}

/** @returns what is known of the cards that were put there */
export function gatherNics(): KnownNics & { readonly put: (node: string, nic: Nic) => void } {
  const packed = pack<Nic & { readonly node: string }>({
    ...{ node: "text", is: "word", uuid: "text", address: "mac", vif: "text" },
  });
  let few: Map<string, Nic[]> | null = new Map();
  let count = 0;
  const met = metMany();
  const twice = new Set<string>();
  let size = 0;
  const nicOf = ({ is, uuid, address, vif }: Nic): Nic => ({ is, uuid, address, vif });
  function keep(node: string, nic: Nic): void {
    if (few === null) {
      packed.put({ node, ...nic });
      return;
    }
    const others = few.get(node);
    if (others === undefined) few.set(node, [nic]);
    else others.push(nic);
    count += 1;
    if (count < MANY) return;
    for (const [of, nics] of few) for (const one of nics) packed.put({ node: of, ...one });
    few = null;
  }
  return {
    put(node, nic) {
      keep(node.toLowerCase(), nic);
      if (nic.vif === null) return;
      if (met.add(nic.vif)) size += 1;
      else twice.add(nic.vif);
    },
    of(node) {
      const id = node.toLowerCase();
      return few === null ? index(packed, "node")(id).map(nicOf) : (few.get(id) ?? []);
    },
    vifs: {
      get size() {
        return size;
      },
      has: met.has,
      *values() {
        for (const { vif } of few === null ? packed : [...few.values()].flat())
          if (vif !== null) yield vif;
      },
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

/** @returns ports that were put there: some hundred bytes each, of a whole fleet too */
export function gatherPorts(): NetworkPorts & { readonly put: (port: NetworkPort) => void } {
  const packed = pack<NetworkPort>({
    ...{ id: "text", mac_address: "mac", device_id: "text", device_owner: "word" },
  });
  let few: Map<string, NetworkPort> | null = new Map();
  const get = (id: string): NetworkPort | undefined =>
    few === null ? index(packed, "id")(id)[0] : few.get(id);
  return {
    put(port) {
      if (few === null) {
        packed.put(port);
        return;
      }
      few.set(port.id, port);
      if (few.size < MANY) return;
      for (const one of few.values()) packed.put(one);
      few = null;
    },
    get,
    has: (id) => get(id) !== undefined,
  };
}

/** A node of the list: what stands against managing it, empty where nothing does. */
export interface AdoptableRow {
  readonly node: RunningNode;
  readonly whyNot: readonly string[];
}
