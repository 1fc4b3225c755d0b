import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";

/** A NIC of a node, or a bond of several. */
export interface Nic {
  readonly is: "port" | "portgroup";
  readonly uuid: string;
  /** In lower case with colons. Null for a bond without a MAC. */
  readonly address: string | null;
  /** Uuid of the tenant's Neutron port, else null. */
  readonly vif: string | null;
}

/** Ids of Neutron ports, not case-sensitive. */
export interface PortIds {
  readonly size: number;
  readonly has: (id: string) => boolean;
  readonly values: () => Iterable<string>;
}

export interface ExistingNics {
  /** NICs of a node, by its uuid. */
  readonly of: (node: string) => readonly Nic[];
  /** Neutron ports of NICs, and those of more than one NIC. */
  readonly vifs: PortIds;
  readonly duplicates: ReadonlySet<string>;
}

/** @returns the NICs that were added */
export function gatherNics(): ExistingNics & { readonly put: (node: string, nic: Nic) => void } {
  const byNode = new Map<string, Nic[]>();
  /** Original spelling by lower case. */
  const vifs = new Map<string, string>();
  const duplicates = new Set<string>();
  return {
    put(node, nic) {
      const id = node.toLowerCase();
      byNode.set(id, [...(byNode.get(id) ?? []), nic]);
      if (nic.vif === null) return;
      const vif = nic.vif.toLowerCase();
      if (vifs.has(vif)) duplicates.add(nic.vif);
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
    duplicates,
  };
}

/** An attach writes the first field, an operator the second. @source ironic: common/network.py */
export function vifOf(internal_info: Json | undefined, extra: Json | undefined): string | null {
  const textAt = (info: Json | undefined, key: string): string | null => {
    const value = objectOf(info)[key];
    return typeof value === "string" && value !== "" ? value.toLowerCase() : null;
  };
  return textAt(internal_info, "tenant_vif_port_id") ?? textAt(extra, "vif_port_id");
}

/** An Ironic node for `node manage`. Field names are Ironic's. */
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

/** Compared before and after a record is created. Conductors write the other fields at any time. */
export type ComparedNode = Pick<
  RunningNode,
  | "instance_uuid"
  | "resource_class"
  | "instance_info"
  | "extra"
  | "maintenance"
  | "maintenance_reason"
>;

/** Field names are Neutron's. */
export interface NetworkPort {
  readonly id: string;
  /** In lower case with colons. */
  readonly mac_address: string;
  /** Empty without a server. */
  readonly device_id: string;
  readonly device_owner: string;
}

export type NetworkPorts = Pick<ReadonlyMap<string, NetworkPort>, "get" | "has">;

/** A node of the list, and why it cannot be managed. Empty if it can. */
export interface AdoptableRow {
  readonly node: RunningNode;
  readonly reasons: readonly string[];
}
