import type { ServerIdentity } from "../artefact.ts";
import type { Finding } from "../findings.ts";
import type { LegacyMove } from "./legacy-move.ts";
import type { HostBeat, NovaIdentity, NovaStep, PlanFile } from "./nova-plan.ts";
import type { ComputeRow, InstanceRow } from "./nova-rows.ts";
import type { OpenRequest } from "./requests.ts";

/** A nova-compute service with its administrative state. */
export interface ComputeHost extends HostBeat {
  readonly disabled: boolean | null;
  readonly disabled_reason: string | null;
  /**
   * Undefined before Liberty. Null in older rows, which Nova treats as false.
   * @source nova db/main/models.py Service: Boolean, default=False, without a server default
   */
  readonly forced_down: boolean | null | undefined;
}

/** A live row of compute_nodes with its driver. */
export interface OwnedCompute extends ComputeRow {
  /** Host of the row, or of its service. */
  readonly owner: string | null;
  readonly hypervisor_type: string | null;
}

export interface Tenant extends InstanceRow {
  readonly vm_state: string | null;
}

export interface OwnedMachine {
  /** `compute_nodes.hypervisor_hostname`: the node's uuid. */
  readonly node: string;
  /** Live rows of any host, oldest first. */
  readonly computes: readonly OwnedCompute[];
  /** Live instances of any host. */
  readonly instances: readonly Tenant[];
  /** Hosts in evacuation records of its instances. */
  readonly evacuations: readonly string[];
  /** Requests that no nova-compute started. */
  readonly queued: readonly OpenRequest[];
}

/** The instance in Ironic's node. Undefined if not read, null without such a node. */
export type NodeTenant = { readonly instance_uuid: string | null } | null | undefined;

/** `there`: its rows already have the new host. */
type MoveVerdict = "move" | "there" | "blocked";

/** A machine in a plan of moves between compute hosts. */
export interface PlannedMove {
  readonly uuid: string;
  readonly from: string;
  readonly to: string;
  readonly verdict: MoveVerdict;
  readonly instance: string | null;
  readonly task_state: string | null;
  readonly findings: readonly Finding[];
  /** Empty unless it moves. */
  readonly steps: readonly NovaStep[];
  /** nova-baremetal only: the previous state, for rollback. Its steps are for display. */
  readonly legacy?: LegacyMove;
}

/** `takeover` fences the old hosts. `move` requires that they are fenced. */
export type MoveMode = "move" | "takeover";

export interface OldHost extends Pick<HostBeat, "host" | "report_count" | "last_seen_up"> {
  readonly id: number | null;
}

export interface MoveCounts {
  readonly machines: number;
  readonly verdicts: { readonly [verdict in MoveVerdict]: number };
  /** Changed rows of compute_nodes and instances. */
  readonly computes: number;
  readonly instances: number;
  readonly findings: { readonly [code: string]: number };
}

/** plan.json of moves between compute hosts. */
export interface MoveManifest {
  readonly format: "nova2ironic/plan@2";
  readonly kind: "hosts";
  readonly tool: string;
  /** Naive UTC, by our clock. */
  readonly made_at: string;
  /** When the old hosts were read, by our clock, in milliseconds. */
  readonly looked_at: string;
  readonly mode: MoveMode;
  /** sha256 of the site document. Null without one. */
  readonly site?: string | null;
  readonly force_aggregates?: boolean;
  readonly target: NovaIdentity;
  /** For machines of nova-baremetal. */
  readonly nova_bm?: ServerIdentity;
  readonly from: readonly OldHost[];
  readonly to: readonly string[];
  /** Seconds. */
  readonly service_down_time: number;
  /** Findings without a machine: of hosts, and of data that was not read. */
  readonly findings: readonly Finding[];
  /** Steps that fence the old hosts. Included in the plan's digest. */
  readonly fence: readonly NovaStep[];
  readonly counts: MoveCounts;
  /** Always null. A plan for Ironic has the upgrade of Nova here. */
  readonly nova: null;
  readonly files: { readonly [name: string]: PlanFile };
}

export const MOVES = "moves";

export const HOST_ROWS = "host-rows";
export const HOST_FENCE = "host-fence";
export const HOST_PARTS: readonly string[] = [HOST_ROWS, HOST_FENCE];

/** A machine and its compute host in `host list`. */
export interface OwnedRow {
  readonly machine: string;
  readonly name: string | null;
  readonly owner: string | null;
  /** Null if the owner has no service. */
  readonly up: boolean | null;
  /** Seconds since the owner, or the lease of the machine, was renewed, by the database clock. */
  readonly age: number | null;
  /** Changes of the owner with leases. Null without leases. */
  readonly epoch: number | null;
  /** Lock holder and time, or that its host is fenced. */
  readonly lock: string | null;
  /** Task or state of its instance. */
  readonly state: string | null;
  readonly instance: string | null;
}
