import type { ServerIdentity } from "./artefact.ts";
import type { OddText } from "./charset.ts";
import type { Privileges, SpecCall } from "./database.ts";
import type { Finding } from "./finding.ts";

/** What the run's plan says; a line a machine that it does not skip. */
export interface PlanFacts {
  readonly machines: readonly {
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
  }[];
  /** What stands in the way of loading it. */
  readonly applies: PlanApplies;
  /** Whether another pairing than the rule's was wanted of it. */
  readonly paired: boolean;
  /** Databases it and its snapshot were made of, by the options that name them. */
  readonly madeFor: ReadonlyMap<string, ServerIdentity>;
  /** Release of Ironic it was made for. */
  readonly release: string;
  /** Whether nodes get traits, which are rows of a table of their own. */
  readonly traits: boolean;
  /** Machines it skips, by their numbers in nova_bm. */
  readonly skipped: ReadonlySet<number>;
  /** Whether it is to be loaded beside nodes of others. */
  readonly besideOthers: boolean;
  /** Deploy images that nodes or changed flavors name. */
  readonly images: ReadonlySet<string>;
  /** What tenants were made of, as their nodes name it: image, kernel and ramdisk. */
  readonly made: ReadonlySet<string>;
  /** What it changes in Nova; null: Nova was not planned. */
  readonly nova: {
    /** What was found on the way that belongs to no machine. */
    readonly findings: readonly Pick<Finding, "code" | "place" | "message">[];
    /** What it writes to nova that is not plain ASCII. */
    readonly odd: readonly OddText[];
    /** Ids of its steps on flavors. */
    readonly flavors: ReadonlySet<string>;
    /** Host of instances -> those they get, of which a group or a shard may make several. */
    readonly moves: ReadonlyMap<string, ReadonlySet<string>>;
    /** Where instances will be whose row it changes, by their uuid in lower case. */
    readonly places: ReadonlyMap<
      string,
      { readonly host: string | null; readonly node: string | null }
    >;
    /** Compute hosts it makes machines' rows name, as --compute-host had them. */
    readonly hosts: readonly string[];
    /** Compute hosts whose nova-compute must not run while rows change. */
    readonly stopped: readonly string[];
    /** Aggregates that hosts join. */
    readonly joins: readonly { readonly host: string; readonly id: number }[];
    /** What nova's user must be allowed to do for it and for its rollback, and nova_api's. */
    readonly statements: Privileges;
    readonly api: Privileges;
    /** Calls on extra specs over Nova's API that it and its rollback make. */
    readonly calls: ReadonlySet<SpecCall>;
  } | null;
}

/** What apply looks at before it writes. */
export interface PlanApplies {
  /** Machines it wants in Ironic, and how many of them are there. */
  readonly loads: number;
  readonly there: number;
  /** Machines that are blocked, and that are in conflict, each with why. */
  readonly blocked: readonly string[];
  readonly conflicts: readonly string[];
  /** Whether the run's snapshot is the one it was made from. */
  readonly fresh: boolean;
  /** Power readings it was made with: whether they are still the run's, and the oldest in minutes. */
  readonly readings: { readonly same: boolean; readonly minutes: number } | null;
}
