import type { Json, JsonObject } from "../../lib/json.ts";
import type { ComparedNode, KnownNics, NetworkPorts, RunningNode } from "./adoptable.ts";

/** The journal's name of machines that are given their server record. */
export const MANAGE = "manage";

/** What is asked for a machine, checked. */
export interface ManageAsked {
  /** Uuid or name of its node. */
  readonly node: string;
  /** Of its record. */
  readonly name: string;
  readonly description: string | null;
  readonly availability_zone: string | null;
  readonly metadata: { readonly [key: string]: string };
  /** Ids of Neutron's ports that it is to have, lower case; absent: those that its cards name. */
  readonly ports?: readonly string[];
  /** Who asked, where a token says it. */
  readonly owner?: { readonly user_id: string; readonly project_id: string | null };
}

/** What is asked of Nova for machines that get a server, besides what is asked of each. */
export interface ServerWishes {
  /** Id of a flavor. */
  readonly flavor: string;
  /** Of Glance; null: the one that `instance_info` of the machine names. */
  readonly image: string | null;
  /** Of Neutron; null: those that the machine's cards name. */
  readonly ports: readonly string[] | null;
  /** Whether a network interface that talks to switches may cut its machine off for a while. */
  readonly cut: boolean;
  /** Seconds for which a machine is looked at afterwards. */
  readonly watch: number;
}

/** What a flavor asks of a machine that is to have its server. */
export interface FlavorNeeds {
  /** By resource class, the flavor's own size among them where no extra spec takes its place: more than 0 each. */
  readonly resources: ReadonlyMap<string, number>;
  /** Traits, by whether the machine must have them or must not. */
  readonly traits: ReadonlyMap<string, "required" | "forbidden">;
  /** What its extra specs say of `capabilities:`, as it stands there, by name. */
  readonly capabilities: ReadonlyMap<string, string>;
  /** MiB, its own size whatever extra specs say. */
  readonly ram: number;
  /** GiB of its root disk, likewise; 0: it says none. */
  readonly root: number;
}

/** What Glance says of an image that a server is to be made of. */
export interface ServerImage {
  readonly status: string;
  /** Bytes; null where it does not say. */
  readonly size: number | null;
  /** MiB of memory that its flavor must have at least; 0: no minimum. */
  readonly min_ram: number;
  /** GiB of root disk that its flavor must have at least; 0: no minimum. */
  readonly min_disk: number;
}

/** A server record as its keeper tells it. */
export interface ServerRecord {
  readonly uuid: string;
  readonly name: string | null;
  readonly node_uuid: string | null;
  /** `active`, `allocating` or `error`. */
  readonly state: string;
  readonly last_error: string | null;
  /** ISO 8601; null where its keeper does not say. */
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

/** Who has a port of Neutron. */
export interface PortDevice {
  readonly device_id: string;
  readonly device_owner: string;
}

/** A machine, and what its record touches, as it is now. */
export interface SeenServer {
  /** Null: Ironic has no such node. */
  readonly node: RunningNode | null;
  /** Of the uuid asked for; null where there is none. */
  readonly record: ServerRecord | null;
  /** Ports of Neutron that its nics, or the journal, name; null: nothing says where Neutron is. */
  readonly ports: NetworkPorts | null;
}

/** What a record is made with. */
export interface RecordAsked {
  readonly uuid: string;
  readonly name: string;
  readonly node: string;
  readonly resource_class: string;
  readonly extra: JsonObject;
}

/**
 * Who keeps server records, by what was given: each call is made only while things are as it is told, and made
 * once though its answer is lost.
 *
 * Every one that writes resolves to null, or to why it is refused; what nobody answers is thrown.
 */
export interface RecordKeeper {
  /** @param server of its record; null: there cannot be one yet */
  readonly look: (
    node: string,
    server: string | null,
    ports: readonly string[],
  ) => Promise<SeenServer>;
  /**
   * The same of several, of each the uuid of a record that was begun, or null.
   *
   * @param cards of all nodes
   */
  readonly lookAll: (
    all: readonly (readonly [node: string, server: string | null])[],
    most: number,
    cards: KnownNics["of"],
  ) => Promise<readonly SeenServer[]>;
  /** What nodes are compared by, as it is now; null: there is no such node. */
  readonly compared: (
    nodes: readonly string[],
    most: number,
  ) => Promise<readonly (ComparedNode | null)[]>;
  /** Node and record once more; its cards and ports as they were seen. */
  readonly again: (seen: SeenServer, node: string, server: string) => Promise<SeenServer>;
  /** Marks the node as ours, and reads it again. */
  readonly hold: (node: string, server: string) => Promise<Written<RunningNode>>;
  readonly bind: (
    port: string,
    from: readonly PortDevice[],
    to: PortDevice,
  ) => Promise<NotWritten | null>;
  /**
   * @param isNew nobody asked for it before: it cannot be there
   * @returns the record as it was made; null where it was made, and nobody told
   */
  readonly record: (asked: RecordAsked, isNew: boolean) => Promise<Written<ServerRecord | null>>;
  readonly unrecord: (node: string, server: string) => Promise<string | null>;
  /** Puts a node back in service that an interrupted `unrecord` left in maintenance. */
  readonly endMaintenance: (node: string, server: string) => Promise<string | null>;
  /**
   * Takes the mark off, and gives `instance_info.traits` back where they are as a record leaves them.
   *
   * @param traits as they were; undefined: it had none
   */
  readonly release: (
    node: string,
    server: string,
    traits: Json | undefined,
  ) => Promise<string | null>;
}

/** Why nothing was written. */
export interface NotWritten {
  readonly why: string;
  /** Somebody else has it, or its name, or was there first. */
  readonly taken: boolean;
  /** The login may not. */
  readonly denied?: boolean;
}

/** What was written, or why not. */
export type Written<T> = { readonly now: T } | NotWritten;

/** What became of a machine that was to be managed, or would. */
export interface ManagedOne {
  readonly node: string;
  readonly name: string;
  /** Of its record; null where it has none. */
  readonly server: string | null;
  readonly became:
    | "managed"
    | "managed already"
    | "to be managed"
    /** Managed, and what marks it as under way could not be taken off. */
    | "in service"
    | "left"
    | "not reached";
  readonly why: string;
}
