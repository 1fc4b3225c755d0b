import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { Texts } from "../rows.ts";

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
  readonly of: (node: string) => readonly Nic[];
  /** Neutron ports of NICs, and those of more than one NIC. */
  readonly vifs: PortIds;
  readonly duplicates: ReadonlySet<string>;
}

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

type Objects<Field extends string> = { readonly [field in Field]: JsonObject };

/** Compared before and after a record is created. Conductors write the other fields at any time. */
export interface ComparedNode
  extends Texts<"instance_uuid" | "resource_class" | "maintenance_reason">,
    Objects<"instance_info" | "extra"> {
  readonly maintenance: boolean;
}

/** An Ironic node for `node manage`. Field names are Ironic's. */
export interface RunningNode
  extends ComparedNode,
    Texts<"name" | "power_state" | "provision_state" | "allocation_uuid">,
    Texts<"last_error" | "created_at">,
    Objects<"properties"> {
  readonly uuid: string;
  readonly retired: boolean;
  readonly nics: readonly Nic[];
}

/** Field names are Neutron's. */
export interface NetworkPort extends PortDevice {
  readonly id: string;
  /** In lower case with colons. */
  readonly mac_address: string;
}

export type NetworkPorts = Pick<ReadonlyMap<string, NetworkPort>, "get" | "has">;

/** A node of the list, and why it cannot be managed. Empty if it can. */
export interface AdoptableRow {
  readonly node: RunningNode;
  readonly reasons: readonly string[];
}

export const MANAGE = "manage";

export interface ManageRequest {
  readonly node: string;
  readonly name: string;
  readonly description: string | null;
  readonly availability_zone: string | null;
  readonly metadata: { readonly [key: string]: string };
  /** Ids of Neutron ports in lower case. Absent: those of its NICs. */
  readonly ports?: readonly string[];
  readonly owner?: { readonly user_id: string; readonly project_id: string | null };
}

export interface ServerWishes {
  readonly flavor: string;
  /** Glance image id. Null: image in `instance_info` of the machine. */
  readonly image: string | null;
  /** Neutron port ids. Null: those of the machine's NICs. */
  readonly ports: readonly string[] | null;
  /** Whether a network interface that configures switches may interrupt the machine's network. */
  readonly cut: boolean;
  readonly watch: number;
}

export interface FlavorResources {
  /** By resource class, above 0. Includes the flavor's own size, unless extra specs replace it. */
  readonly resources: ReadonlyMap<string, number>;
  readonly traits: ReadonlyMap<string, "required" | "forbidden">;
  /** `capabilities:` extra specs by name, unchanged. */
  readonly capabilities: ReadonlyMap<string, string>;
  /** MiB, regardless of extra specs. */
  readonly ram: number;
  /** GiB of the root disk, regardless of extra specs; 0 if not set. */
  readonly root: number;
}

export interface ServerImage {
  readonly status: string;
  /** Bytes. Null if unknown. */
  readonly size: number | null;
  /** MiB; 0 for no minimum. */
  readonly min_ram: number;
  /** GiB of root disk; 0 for no minimum. */
  readonly min_disk: number;
}

/** Times are ISO 8601, null if the service omits them. */
export interface ServerRecord
  extends Texts<"name" | "node_uuid" | "last_error" | "created_at" | "updated_at"> {
  readonly uuid: string;
  /** `active`, `allocating` or `error`. */
  readonly state: string;
}

export interface PortDevice {
  /** Empty without a server. */
  readonly device_id: string;
  readonly device_owner: string;
}

export interface ServerView {
  readonly node: RunningNode | null;
  readonly record: ServerRecord | null;
  /** Neutron ports of its NICs or the journal. Null without Neutron. */
  readonly ports: NetworkPorts | null;
}

export interface RecordRequest {
  readonly uuid: string;
  readonly name: string;
  readonly node: string;
  readonly resource_class: string;
  readonly extra: JsonObject;
}

export interface NotWritten {
  readonly reason: string;
  /** Another user has the node or the record's name, or was faster. */
  readonly taken: boolean;
  readonly denied?: boolean;
}

export type Written<T> = { readonly now: T } | NotWritten;

export interface ManagedOne {
  readonly node: string;
  readonly name: string;
  readonly server: string | null;
  readonly outcome:
    | "managed"
    | "managed already"
    | "to be managed"
    /** Managed, but its in-progress mark could not be removed. */
    | "in service"
    | "left"
    | "not reached";
  readonly reason: string;
}
