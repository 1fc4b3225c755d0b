import type { Several } from "../lib/text.ts";
import type { ServerIdentity } from "./artefact.ts";
import type { Privileges, Ungranted } from "./database.ts";
import type { TakeOverPace } from "./handover.ts";
import type { Conductor } from "./ironic/service.ts";
import type { ScannedKey } from "./ironic/target.ts";
import type { BmNode, Instance } from "./machine.ts";
import type { HostBeat } from "./nova/nova-plan.ts";
import type { TextSet } from "./rows.ts";

type Lookup<T> = Pick<ReadonlyMap<string, T>, "get">;

/** Exit statuses as in nova-status. The worst row decides. src/manual/decide.md prints them. */
export const CHECK_STATUS = {
  Success: { status: 0, meaning: "nothing found" },
  Warning: { status: 1, meaning: "a condition to check, or a check that could not run" },
  Failure: { status: 2, meaning: "must be fixed before the window" },
  Error: { status: 255, meaning: "the check did not complete" },
} as const;

export type CheckVerdict = Exclude<keyof typeof CHECK_STATUS, "Error">;

export interface CheckResult {
  readonly result: CheckVerdict;
  readonly details: string | null;
}

export interface Refused {
  readonly refused: { readonly code: string; readonly message: string; readonly fix: string };
}

export interface ServerFacts {
  readonly option: string;
  readonly label: string;
  /** Network connection without TLS. */
  readonly clear: boolean;
  readonly identity: ServerIdentity;
  /** Milliseconds its clock is ahead of ours. Null without a clock. */
  readonly skew: number | null;
  /** Galera's status variables. Empty without a cluster. */
  readonly wsrep: { readonly [name: string]: string };
}

export interface BmFacts {
  readonly version: number;
  readonly nodes: readonly Pick<
    BmNode,
    "id" | "uuid" | "service_host" | "instance_uuid" | "task_state"
  >[];
}

type Beat = Omit<HostBeat, "age">;

/** A live extra spec of a live flavor that names a deploy image. */
export interface DeployImage {
  /** Id of the plan's step that changes it. */
  readonly step: string;
  /** Flavor id, the same in nova and nova_api. */
  readonly id: number;
  readonly flavor: string;
  readonly value: string | null;
}

export interface NovaFacts {
  readonly version: number;
  /** On our machines and hosts, or named by machines or Ironic. Deleted ones only if named. */
  readonly instances: readonly (Pick<
    Instance,
    "uuid" | "host" | "node" | "vm_state" | "task_state" | "deleted"
  > & { readonly image: string | null })[];
  readonly flavors: readonly DeployImage[];
  readonly queued: readonly { readonly instance: string; readonly text: string }[];
  /** Request tables that this user may not read, and the grants to read them. Null if none. */
  readonly unqueued: {
    readonly tables: readonly string[];
    readonly grants: readonly string[];
  } | null;
  /** Live aggregates, one entry per host. Null if the tables are missing or unreadable. */
  readonly aggregates:
    | readonly { readonly host: string; readonly id: number; readonly name: string }[]
    | null;
  /** Missing privileges for the plan and its rollback. */
  readonly forbidden: Ungranted;
  /** Instances with volumes. Null if unreadable. */
  readonly volumes: readonly string[] | null;
  /** Evacuations of our instances. Null if this nova has no such records. */
  readonly evacuations:
    | readonly { readonly instance_uuid: string; readonly source: string }[]
    | null;
  /** nova-compute services, and the same some seconds later. */
  readonly beats: readonly Beat[];
  readonly later: readonly Beat[];
}

export interface IronicFacts {
  readonly release: string;
  /** Whether machines can boot only from disk. */
  readonly local: boolean;
  /** Whether Nova of this release reads deploy images from flavors. @source facts/nova-bm.md 4.2 */
  readonly flavored: boolean;
  /** Whether all nova-computes share one host name: up to Mitaka. @source facts/nova-bm.md 5.3 */
  readonly clustered: boolean;
  /** Whether Nova of this release has cells and Placement: Ocata and later. */
  readonly cells: boolean;
  readonly stages: boolean;
  /** Missing privileges for a load and its rollback. */
  readonly forbidden: Ungranted;
  readonly conductors: readonly Conductor[];
  readonly keys: readonly ScannedKey[];
  readonly nodes: readonly {
    readonly uuid: string;
    readonly instance_uuid: string | null;
    readonly maintenance: boolean;
    readonly staged: boolean;
    readonly power_state: string | null;
    readonly marked: boolean;
  }[];
}

export interface ApiFacts {
  /** Instances whose mapping has a cell, and those without a cell. */
  readonly mapped: TextSet;
  readonly cellless: TextSet;
  /** As NovaFacts.aggregates, for Newton and later. */
  readonly aggregates: NovaFacts["aggregates"];
  readonly forbidden: Ungranted;
  /** Null if the table is missing or unreadable. */
  readonly flavors: readonly DeployImage[] | null;
  /** Ids of all flavors. Nova's flavors with these ids are leftovers of a data migration. */
  readonly flavorIds: ReadonlySet<number>;
}

export interface CheckView {
  /** Seconds between the two heartbeat readings. */
  readonly watched: number;
  readonly pairing: {
    readonly allowed: "rule" | "override";
    readonly why: string;
    /** The operator requested another pairing. */
    readonly requested: boolean;
  } | null;
  readonly servers: readonly ServerFacts[];
  readonly bm: BmFacts | Refused;
  /** Null: not given. */
  readonly nova: NovaFacts | Refused | null;
  readonly ironic: IronicFacts | Refused;
  readonly plan: PlanFacts | null;
  /** Nodes loaded by this run, by its journal. */
  readonly loadedNodes: TextSet;
  /** Null: not given. */
  readonly api: ApiFacts | Refused | null;
  readonly placement: PlacementFacts | Refused | null;
  /** Image -> its status in Glance, empty if missing. Null without Glance. */
  readonly glance: ReadonlyMap<string, string> | Refused | null;
  /** Machine, in lower case -> compute_nodes.uuid. Null if unreadable. */
  readonly computes: Lookup<string> | null;
  /** Instances whose own flavor requests no resource class. */
  readonly classless: TextSet;
  /** Pace of takeover. Null without ironic.conf. */
  readonly pace: TakeOverPace | null;
  /** Folder of the run, or its future path, and the free bytes there. `other`: other content. */
  readonly run: {
    readonly path: string;
    readonly is: "absent" | "other" | "run";
    readonly free: number;
  };
}

export interface Provider {
  readonly uuid: string;
  readonly name: string;
}

/** Placement data of our instances and machines, in lower case. */
export interface PlacementFacts {
  /** Instance -> providers of its allocations. The name is empty if the provider is missing. */
  readonly allocated: Lookup<readonly Provider[]>;
  readonly providers: readonly Provider[];
}

export interface LineFacts {
  readonly id: number;
  readonly uuid: string;
  /** Null: the machine keeps no instance. */
  readonly instance_uuid: string | null;
  readonly host: string | null;
  readonly blocked: boolean;
  /** Finding code -> whether the operator accepted it. */
  readonly findings: ReadonlyMap<string, boolean>;
}

export interface PlanFacts {
  readonly machines: readonly LineFacts[];
  readonly applies: {
    /** Planned machines, and those that exist in Ironic. */
    readonly loads: number;
    readonly existing: number;
    /** Blocked and conflicting machines with their reasons. */
    readonly blocked: Several;
    readonly conflicts: Several;
    /** Whether apply skips both (--skip-blocked), so that they are no failure. */
    readonly skipsBlocked: boolean;
    /** Whether the run's snapshot is that of the plan. */
    readonly fresh: boolean;
    /** Power readings of the plan: whether unchanged, and the age of the oldest in minutes. */
    readonly readings: { readonly same: boolean; readonly minutes: number } | null;
  };
  readonly paired: boolean;
  readonly takeOvers: number;
  readonly ports: number;
  /** Databases of the plan and its snapshot, by option. */
  readonly madeFor: ReadonlyMap<string, ServerIdentity>;
  readonly release: string;
  /** Whether nodes get traits, which have their own table. */
  readonly traits: boolean;
  /** bm_nodes.id of skipped machines. */
  readonly skipped: ReadonlySet<number>;
  /** Whether Ironic may contain other nodes. */
  readonly allowOtherNodes: boolean;
  /** Deploy images of nodes or changed flavors. */
  readonly images: ReadonlySet<string>;
  /** Images, kernels and ramdisks of tenants, by their nodes. */
  readonly made: ReadonlySet<string>;
  /** Changes in Nova. Null if Nova was not planned. */
  readonly nova: {
    readonly flavors: ReadonlySet<string>;
    /** Old host of instances -> new hosts. A group or shard may result in several. */
    readonly moves: ReadonlyMap<string, ReadonlySet<string>>;
    /** Instance uuid in lower case -> new place, for each changed row. */
    readonly movedTo: Lookup<{ readonly host: string | null; readonly node: string | null }>;
    /** Compute hosts from --compute-host. */
    readonly hosts: readonly string[];
    /** Compute hosts whose nova-compute must be stopped for the change. */
    readonly stopped: readonly string[];
    readonly joins: readonly { readonly host: string; readonly id: number }[];
    /** Privileges for the plan and its rollback, in nova and nova_api. */
    readonly statements: Privileges;
    readonly api: Privileges;
  } | null;
}
