import type { Json } from "../../lib/json.ts";
import type { NodeChange } from "../../model/ironic/rest.ts";

/** The journal's name of what a run switches over. */
export const SWITCHOVER = "switchover";

/** The key of `extra` that marks both nodes of a switchover, with its id. */
export const SWITCH_MARK = "nova2ironic_switchover";

/**
 * The steps of a switchover in their order, by the journal's name of each, and what is true once it came to its end.
 *
 * @source facts/systems.md B4
 */
export const SWITCH_STATES = {
  "switchover-hold": "CHECKED",
  "switchover-destination": "DST_MANAGEABLE",
  "switchover-nova-hold": "NOVA_HELD",
  "switchover-power": "SRC_OFF",
  "switchover-maintenance": "SRC_MAINT",
  "switchover-unlink": "UNLINKED",
  "switchover-volumes": "VOLUMES",
  "switchover-vifs": "VIFS",
  "switchover-fields": "DST_INFO",
  "switchover-nova-rows": "NOVA_MOVED",
  "switchover-claim": "DST_CLAIMED",
  "switchover-deploy": "DST_ACTIVE",
  "switchover-allocation": "ALLOCATION",
  "switchover-placement": "PLACEMENT",
  "switchover-nova-free": "NOVA_FREED",
  "switchover-clear": "SRC_CLEARED",
  "switchover-release": "DONE",
} as const;

export type SwitchStepName = keyof typeof SWITCH_STATES;

/** What was decided before anything was changed; the journal keeps it. */
export interface Switchover {
  readonly id: string;
  /** Uuids of nodes. */
  readonly source: string;
  readonly destination: string;
  readonly source_name: string | null;
  readonly destination_name: string | null;
  readonly instance_uuid: string;
  /** Uuids of volume connectors and targets that move. */
  readonly connectors: readonly string[];
  readonly targets: readonly string[];
  /** Name of the source afterwards; null: it has no name, and both nodes keep theirs. */
  readonly failed_name: string | null;
  /** Nova's rows are an operator's: their statements are shown at the end. */
  readonly leave_nova: boolean;
  /** nova2ironic chose the destination: it is not powered off. */
  readonly picked: boolean;
  /** Its row in Nova, which is changed; null where none is. */
  readonly server: SwitchedServer | null;
}

/** Where Nova has a server. */
export interface ServerPlace {
  /** `compute_nodes.hypervisor_hostname`: a node's uuid. */
  readonly node: string;
  /** Of the nova-compute that has that. */
  readonly host: string;
  /** `compute_nodes.id`; absent where instances do not name it. */
  readonly compute_id?: number | null;
}

/** A row of Nova's instances, and where it goes. */
export interface SwitchedServer {
  /** `instances.id`. */
  readonly id: number;
  readonly uuid: string;
  readonly from: ServerPlace;
  readonly to: ServerPlace;
  /** Nova has it stopped, and switches its machine off once it looks. */
  readonly stopped: boolean;
  /** Its allocation in Placement is moved too. */
  readonly placement: boolean;
}

/** The two nodes of a switchover. */
export type SwitchSide = "source" | "destination";

/** A field of a node, or a key of one, that a switchover changes; undefined: there is none. */
export interface NodeField extends NodeChange {
  readonly side: SwitchSide;
  readonly before: Json | undefined;
}

/** Why a source counts as off though its BMC does not say so. */
export interface Fenced {
  /** `--source-confirmed-off`, or `--fence-command`. */
  readonly proof: string;
  readonly by: string;
}

/** How long a switchover waits. Milliseconds. */
export interface SwitchTimes {
  /** For the operating system to shut down. */
  readonly soft: number;
  /** Between the two reads that prove it. */
  readonly interval: number;
  /** For that proof, from the first hard power off. */
  readonly proof: number;
}

/** A line of the table of steps. */
export interface SwitchStepRow {
  readonly step: string;
  readonly call: string;
  readonly before: string;
  readonly after: string;
}
