import type { Several } from "../lib/text.ts";
import type { ServerIdentity } from "./artefact.ts";
import type { Lacking, Privileges } from "./database.ts";
import type { TakeOverPace } from "./handover.ts";
import type { Conductor } from "./ironic/service.ts";
import type { ScannedKey } from "./ironic/target.ts";
import type { TextSet } from "./rows.ts";

/** What is known by a text. */
type Named<T> = Pick<ReadonlyMap<string, T>, "get">;

/** Exit statuses of `check`, as nova-status has them; the worst row decides. src/manual/decide.md prints them. */
export const CHECK_STATUS = {
  Success: { status: 0, meaning: "nothing found" },
  Warning: { status: 1, meaning: "a condition to look at, or a check that could not be made" },
  Failure: { status: 2, meaning: "must be fixed before the window" },
  Error: { status: 255, meaning: "the check did not complete" },
} as const;

export type CheckVerdict = Exclude<keyof typeof CHECK_STATUS, "Error">;

/** What one look found. */
export interface CheckResult {
  readonly result: CheckVerdict;
  /** Null: there is nothing to say. */
  readonly details: string | null;
}

/** What a database would not let us know, in the words of the refusal. */
export interface Refused {
  readonly refused: { readonly code: string; readonly message: string; readonly fix: string };
}

/** A server as it is met: by the option that names its database. */
export interface ServerFacts {
  readonly option: string;
  /** For people. */
  readonly shown: string;
  /** Spoken to without TLS, over a network. */
  readonly clear: boolean;
  readonly identity: ServerIdentity;
  /** Milliseconds its clock is ahead of ours; null where it has none of its own. */
  readonly ahead: number | null;
  /** Galera's status variables; empty on a server that is in no cluster. */
  readonly wsrep: { readonly [name: string]: string };
}

/** A live row of bm_nodes. */
export interface BmNodeFacts {
  readonly id: number;
  readonly uuid: string | null;
  readonly service_host: string | null;
  readonly instance_uuid: string | null;
  readonly task_state: string | null;
}

export interface BmFacts {
  readonly version: number;
  readonly nodes: readonly BmNodeFacts[];
}

/** What a service wrote of itself, as `HostBeat` has it. */
interface Beat {
  readonly id: number;
  readonly host: string;
  readonly report_count: number | null;
  readonly last_seen_up: string | null;
}

/** A live extra spec of a live flavor that names a deploy image. */
export interface DeployImage {
  /** Id of the step that would change it. */
  readonly step: string;
  /** Number of the flavor, which nova and nova_api share. */
  readonly id: number;
  readonly flavor: string;
  readonly value: string | null;
}

/** A row of instances. */
export interface InstanceFacts {
  readonly uuid: string;
  readonly host: string | null;
  readonly node: string | null;
  readonly vm_state: string | null;
  readonly task_state: string | null;
  readonly deleted: boolean;
  readonly image: string | null;
}

type HostAggregate = { readonly host: string; readonly id: number; readonly name: string };

export interface NovaFacts {
  readonly version: number;
  /**
   * Those on our machines and their compute hosts, or named by machines and by Ironic's nodes; deleted
   * ones only when named.
   */
  readonly instances: readonly InstanceFacts[];
  readonly flavors: readonly DeployImage[];
  /** Requests that wait for a nova-compute, in words, of these instances. */
  readonly queued: readonly { readonly instance: string; readonly text: string }[];
  /** Tables of requests that this user may not read, and who lets it; null: none. */
  readonly unqueued: {
    readonly tables: readonly string[];
    readonly grants: readonly string[];
  } | null;
  /** Live aggregates, a line a host; null: there are no such tables, or they may not be read. */
  readonly aggregates: readonly HostAggregate[] | null;
  /** Of what the run's plan for Nova and its rollback want. */
  readonly forbidden: Lacking;
  /** Instances with volumes attached; null: the table that says so may not be read. */
  readonly volumes: readonly string[] | null;
  /** Evacuations of our instances; null where this nova keeps no such records. */
  readonly evacuations:
    | readonly { readonly instance_uuid: string; readonly source: string }[]
    | null;
  /** nova-compute services, and the same some seconds later. */
  readonly beats: readonly Beat[];
  readonly later: readonly Beat[];
}

/** A row of Ironic's nodes. */
export interface NodeFacts {
  readonly uuid: string;
  readonly instance_uuid: string | null;
  readonly maintenance: boolean;
  readonly staged: boolean;
  readonly power_state: string | null;
  /** Whether it bears the mark of a load. */
  readonly marked: boolean;
}

export interface IronicFacts {
  readonly release: string;
  /** Whether machines can only boot from their disk. */
  readonly local: boolean;
  /** Whether Nova of this release takes deploy images from flavors. @source facts/nova-bm.md 4.2 */
  readonly flavored: boolean;
  /** Whether all its nova-computes have one host name: through Mitaka. @source facts/nova-bm.md 5.3 */
  readonly clustered: boolean;
  /** Whether Nova of this release has cells and Placement: Ocata and later. */
  readonly cells: boolean;
  /** Whether its rows can say why they are in maintenance. */
  readonly stages: boolean;
  /** Of what a load and its rollback want. */
  readonly forbidden: Lacking;
  readonly conductors: readonly Conductor[];
  /** What a rollback reads whole for each node. */
  readonly keys: readonly ScannedKey[];
  readonly nodes: readonly NodeFacts[];
}

/** What only nova_api says. */
export interface ApiFacts {
  /** Instances whose mapping names a cell, and those whose names none. */
  readonly mapped: TextSet;
  readonly cellless: TextSet;
  /** As NovaFacts.aggregates, where Newton and later have them. */
  readonly aggregates: NovaFacts["aggregates"];
  /** As NovaFacts.forbidden. */
  readonly forbidden: Lacking;
  /** Null: there is no such table, or it may not be read. */
  readonly flavors: readonly DeployImage[] | null;
  /** Numbers of all its flavors: nova's of the same are what a data migration left behind. */
  readonly flavorIds: ReadonlySet<number>;
}

/** A run's folder: not there, one that holds something else or nothing yet, or a run. */
export interface RunPlace {
  readonly path: string;
  readonly is: "absent" | "other" | "run";
}

/** Everything the checks look at. */
export interface CheckView {
  /** Seconds between the two looks at heartbeats. */
  readonly watched: number;
  readonly pairing: {
    readonly allowed: "rule" | "override";
    readonly why: string;
    /** The operator's word for another pairing. */
    readonly wanted: boolean;
  } | null;
  readonly servers: readonly ServerFacts[];
  readonly bm: BmFacts | Refused;
  /** Null: not given. */
  readonly nova: NovaFacts | Refused | null;
  readonly ironic: IronicFacts | Refused;
  /** Null: there is none. */
  readonly plan: PlanFacts | null;
  /** Nodes this run loaded, by its journal. */
  readonly ours: TextSet;
  /** Null: not given. */
  readonly api: ApiFacts | Refused | null;
  readonly placement: PlacementFacts | Refused | null;
  /** Image -> its status in Glance, empty where it has none; null: Glance is not to be asked. */
  readonly glance: ReadonlyMap<string, string> | Refused | null;
  /** Machine, in lower case -> compute_nodes.uuid, where Nova has it; null: the table may not be read. */
  readonly computes: Named<string> | null;
  /** Instances whose own flavor wants no resource class. */
  readonly classless: TextSet;
  /** How conductors take machines over, null where no ironic.conf is given, and how many handover releases at a time. */
  readonly takeOver: { readonly pace: TakeOverPace | null; readonly inFlight?: number };
  /** The run's folder, or where it would be, and the bytes that are free there. */
  readonly run: RunPlace & { readonly free: number };
}

/** A resource provider, in lower case. */
export interface Provider {
  readonly uuid: string;
  readonly name: string;
}

/** What Placement says of our instances and machines; all in lower case. */
export interface PlacementFacts {
  /** Instance -> the providers it is allocated on; a name is empty where there is no such provider. */
  readonly allocated: Named<readonly Provider[]>;
  /** Providers named for our machines. */
  readonly providers: readonly Provider[];
}

/** What the run's plan says of a machine. */
export interface LineFacts {
  /** Of nova_bm. */
  readonly id: number;
  readonly uuid: string;
  /** Null: it keeps none. */
  readonly instance_uuid: string | null;
  /** The compute host that runs for it after the window. */
  readonly host: string | null;
  readonly blocked: boolean;
  /** Findings by their code, with whether the operator accepted them. */
  readonly findings: ReadonlyMap<string, boolean>;
}

/** What the run's plan says; a line a machine that it does not skip. */
export interface PlanFacts {
  readonly machines: readonly LineFacts[];
  /** What stands in the way of loading it. */
  readonly applies: PlanApplies;
  /** Whether another pairing than the rule's was wanted of it. */
  readonly paired: boolean;
  /** Machines that conductors take over. */
  readonly takeOvers: number;
  /** Ports that it makes. */
  readonly ports: number;
  /** Databases it and its snapshot were made of, by the options that name them. */
  readonly madeFor: ReadonlyMap<string, ServerIdentity>;
  /** Release of Ironic it was made for. */
  readonly release: string;
  /** Whether nodes get traits, which are rows of a table of their own. */
  readonly traits: boolean;
  /** Machines it skips, by their numbers in nova_bm. */
  readonly skipped: ReadonlySet<number>;
  /** Whether it is to be loaded beside nodes of others. */
  readonly allowOtherNodes: boolean;
  /** Deploy images that nodes or changed flavors name. */
  readonly images: ReadonlySet<string>;
  /** What tenants were made of, as their nodes name it: image, kernel and ramdisk. */
  readonly made: ReadonlySet<string>;
  /** What it changes in Nova; null: Nova was not planned. */
  readonly nova: {
    /** Ids of its steps on flavors. */
    readonly flavors: ReadonlySet<string>;
    /** Host of instances -> those they get, of which a group or a shard may make several. */
    readonly moves: ReadonlyMap<string, ReadonlySet<string>>;
    /** Where instances will be whose row it changes, by their uuid in lower case. */
    readonly places: Named<{ readonly host: string | null; readonly node: string | null }>;
    /** Compute hosts it makes machines' rows name, as --compute-host had them. */
    readonly hosts: readonly string[];
    /** Compute hosts whose nova-compute must not run while rows change. */
    readonly stopped: readonly string[];
    /** Aggregates that hosts join. */
    readonly joins: readonly { readonly host: string; readonly id: number }[];
    /** What nova's user must be allowed to do for it and for its rollback, and nova_api's. */
    readonly statements: Privileges;
    readonly api: Privileges;
  } | null;
}

/** What apply looks at before it writes. */
export interface PlanApplies {
  /** Machines it wants in Ironic, and how many of them are there. */
  readonly loads: number;
  readonly there: number;
  /** Machines that are blocked, and that are in conflict, each with why. */
  readonly blocked: Several;
  readonly conflicts: Several;
  /** Whether apply is to leave both out (--skip-blocked): they are no failure then. */
  readonly leaves: boolean;
  /** Whether the run's snapshot is the one it was made from. */
  readonly fresh: boolean;
  /** Power readings it was made with: whether they are still the run's, and the oldest in minutes. */
  readonly readings: { readonly same: boolean; readonly minutes: number } | null;
}
