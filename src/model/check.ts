import type { Conductor } from "./service.ts";

/** Exit statuses of `check`, as nova-status has them; the worst row decides. README.md prints them. */
export const CHECK_STATUS = {
  Success: { status: 0, meaning: "nothing found" },
  Warning: { status: 1, meaning: "something to look at, or that could not be looked at" },
  Failure: { status: 2, meaning: "something that must be mended before the window" },
  Error: { status: 255, meaning: "the check itself did not come to an end" },
} as const;

export type Outcome = Exclude<keyof typeof CHECK_STATUS, "Error">;

/** What one look found. */
export interface Looked {
  readonly result: Outcome;
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
  /** Milliseconds its clock is ahead of ours; null where it has none of its own. */
  readonly ahead: number | null;
  /** Galera's status variables; empty on a server that is in no cluster. */
  readonly wsrep: { readonly [name: string]: string };
}

export interface BmFacts {
  readonly version: number;
  /** Live rows. */
  readonly nodes: readonly {
    readonly id: number;
    readonly uuid: string | null;
    readonly service_host: string | null;
    readonly instance_uuid: string | null;
    readonly task_state: string | null;
  }[];
}

/** What a service wrote of itself; a heartbeat changes one or both of the last. */
export interface Beat {
  readonly id: number;
  readonly host: string;
  readonly report_count: number | null;
  readonly updated_at: string | null;
}

export interface NovaFacts {
  readonly version: number;
  /** Those on our machines, or named by them; deleted ones only when named. */
  readonly instances: readonly {
    readonly uuid: string;
    readonly node: string | null;
    readonly task_state: string | null;
    readonly deleted: boolean;
  }[];
  /** Instances with volumes attached. */
  readonly volumes: readonly string[];
  /** Evacuations of our instances; null where this nova keeps no such records. */
  readonly evacuations:
    | readonly { readonly instance_uuid: string; readonly source: string }[]
    | null;
  /** nova-compute services, and the same some seconds later. */
  readonly beats: readonly Beat[];
  readonly later: readonly Beat[];
}

export interface IronicFacts {
  readonly release: string;
  readonly charset: string;
  /** Whether its rows can say why they are in maintenance. */
  readonly stages: boolean;
  /** Statements that were refused: `INSERT nodes`. */
  readonly forbidden: readonly string[];
  readonly conductors: readonly Conductor[];
  readonly nodes: readonly {
    readonly uuid: string;
    readonly instance_uuid: string | null;
    readonly maintenance: boolean;
    readonly staged: boolean;
    readonly power_state: string | null;
    /** Whether it bears the mark of a load. */
    readonly marked: boolean;
  }[];
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
  readonly run: { readonly path: string /** Bytes. */; readonly free: number };
}
