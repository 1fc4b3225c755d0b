import type { Json } from "../../lib/json.ts";
import type { NodeChange } from "../../model/ironic/rest.ts";

/** Name of the part in the journal. */
export const SWITCHOVER = "switchover";

/** Key in `extra` of both nodes, with the switchover's id. */
export const SWITCH_MARK = "nova2ironic_switchover";

/** The steps in order, with the state after each. @source facts/systems.md B4 */
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

// Object.keys widens the keys to strings.
export const STEP_NAMES = Object.keys(SWITCH_STATES) as readonly SwitchStepName[];

/** The plan, which the journal keeps. */
export interface Switchover {
  readonly id: string;
  /** Node uuids. */
  readonly source: string;
  readonly destination: string;
  readonly source_name: string | null;
  readonly destination_name: string | null;
  readonly instance_uuid: string;
  readonly connectors: readonly string[];
  readonly targets: readonly string[];
  /** New name of the source; null: it has no name, and no names change. */
  readonly failed_name: string | null;
  /** The operator changes Nova's rows with statements shown at the end. */
  readonly leave_nova: boolean;
  /** The destination was chosen automatically, and must not be powered off. */
  readonly picked: boolean;
  readonly server: SwitchedServer | null;
}

export interface ServerLocation {
  /** `compute_nodes.hypervisor_hostname`: a node's uuid. */
  readonly node: string;
  /** Host of the nova-compute of that node. */
  readonly host: string;
  /** `compute_nodes.id`; absent: instances do not have the column. */
  readonly compute_id?: number | null;
}

export interface SwitchedServer {
  readonly id: number;
  readonly uuid: string;
  readonly from: ServerLocation;
  readonly to: ServerLocation;
  /** The server is stopped in Nova, which powers the machine off at the next power sync. */
  readonly stopped: boolean;
  readonly placement: boolean;
}

export type SwitchSide = "source" | "destination";

/** A changed field of a node, or a key of a field; undefined: absent. */
export interface NodeField extends NodeChange {
  readonly side: SwitchSide;
  readonly before: Json | undefined;
}

/** Proof that the source is off without its BMC. */
export interface Fenced {
  /** `--source-confirmed-off`, or `--fence-command`. */
  readonly proof: string;
  readonly by: string;
}

/** Timeouts in milliseconds. */
export interface SwitchTimes {
  /** Shutdown of the operating system. */
  readonly soft: number;
  /** Between the two reads of the proof. */
  readonly interval: number;
  /** The proof, from the first hard power off. */
  readonly proof: number;
}
