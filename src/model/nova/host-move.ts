import type { ServerIdentity } from "../artefact.ts";
import type { Finding } from "../finding.ts";
import type { LegacyMove } from "./legacy-move.ts";
import type { HostBeat, NovaIdentity, NovaStep, PlanFile } from "./nova-plan.ts";
import type { ComputeRow, InstanceRow } from "./nova-rows.ts";
import type { OpenRequest } from "./requests.ts";

/** A nova-compute service and what its operator said of it. */
export interface ComputeHost extends HostBeat {
  readonly disabled: boolean | null;
  readonly disabled_reason: string | null;
  /**
   * Undefined before Liberty, which brought the column; null in a row older than the column, which Nova takes
   * for false.
   *
   * @source nova db/main/models.py Service: Boolean, default=False, without a server default
   */
  readonly forced_down: boolean | null | undefined;
}

/** A live row of compute_nodes, with the driver that offers it. */
export interface OwnedCompute extends ComputeRow {
  /** Its host, as the row itself or its service names it. */
  readonly owner: string | null;
  readonly hypervisor_type: string | null;
}

/** A live instance on a machine. */
export interface Tenant extends InstanceRow {
  readonly vm_state: string | null;
}

/** What Nova holds of a machine of Ironic. */
export interface OwnedMachine {
  /** `compute_nodes.hypervisor_hostname`: the node's uuid. */
  readonly node: string;
  /** Live rows, whichever host owns them, oldest first. */
  readonly computes: readonly OwnedCompute[];
  /** Live instances that name it, whichever host they name. */
  readonly instances: readonly Tenant[];
  /** Hosts that records of evacuations of its instances name. */
  readonly evacuations: readonly string[];
  /** Requests to its instances that no nova-compute began. */
  readonly queued: readonly OpenRequest[];
}

/** What Ironic says of a node: the instance it names; undefined where nobody asked, null where it has no such node. */
export type NodeTenant = { readonly instance_uuid: string | null } | null | undefined;

/** `there`: its rows name the new host already. */
type MoveVerdict = "move" | "there" | "blocked";

/** A machine's line of a plan that moves machines between compute hosts. */
export interface PlannedMove {
  /** The node's. */
  readonly uuid: string;
  readonly from: string;
  readonly to: string;
  readonly verdict: MoveVerdict;
  /** Uuid of the instance on it. */
  readonly instance: string | null;
  readonly task_state: string | null;
  readonly findings: readonly Finding[];
  /** Empty unless it moves. */
  readonly steps: readonly NovaStep[];
  /** Of nova-baremetal: what it was before, by which it goes; its steps only show what becomes of Nova's rows. */
  readonly legacy?: LegacyMove;
}

/** `takeover` fences the hosts that machines leave; `move` wants them fenced. */
export type MoveMode = "move" | "takeover";

/** A host that machines leave, as it was seen when the plan was made. */
export interface LeftHost {
  readonly host: string;
  /** Of its service; null where it has none. */
  readonly id: number | null;
  readonly report_count: number | null;
  readonly last_seen_up: string | null;
}

export interface MoveCounts {
  readonly machines: number;
  readonly verdicts: { readonly [verdict in MoveVerdict]: number };
  /** Rows of compute_nodes and of instances that change. */
  readonly computes: number;
  readonly instances: number;
  /** Finding code -> how often. */
  readonly findings: { readonly [code: string]: number };
}

/** plan.json of a run that moves machines between compute hosts. */
export interface MoveManifest {
  readonly format: "nova2ironic/plan@2";
  readonly kind: "hosts";
  readonly tool: string;
  /** Naive UTC, by our clock. */
  readonly made_at: string;
  /** When the hosts left were looked at, by our clock, to the millisecond. */
  readonly looked_at: string;
  readonly mode: MoveMode;
  /** sha256 of the site document; null without one. */
  readonly site?: string | null;
  readonly force_aggregates?: boolean;
  readonly target: NovaIdentity;
  /** Where its machines are nova-baremetal's. */
  readonly nova_bm?: ServerIdentity;
  readonly from: readonly LeftHost[];
  readonly to: readonly string[];
  /** Seconds. */
  readonly service_down_time: number;
  /** That belong to no machine: of hosts, and of what was not looked at. */
  readonly findings: readonly Finding[];
  /** Steps that fence the hosts left; part of the plan, and so of its digest. */
  readonly fence: readonly NovaStep[];
  readonly counts: MoveCounts;
  /** As a plan for Ironic has it: there is none for Nova's upgrade here. */
  readonly nova: null;
  readonly files: { readonly [name: string]: PlanFile };
}

/** The file of its machines. */
export const MOVES = "moves";

/** Rows of machines that go from one compute host to another, as the journal names them. */
export const HOST_ROWS = "host-rows";
/** Rows of the services of hosts that are fenced. */
export const HOST_FENCE = "host-fence";
export const HOST_PARTS: readonly string[] = [HOST_ROWS, HOST_FENCE];

/** A machine and the compute host that owns it, as `host list` shows it. */
export interface OwnedRow {
  readonly machine: string;
  /** Where its system gives machines names; null otherwise. */
  readonly name: string | null;
  readonly owner: string | null;
  /** Null where the owner has no service. */
  readonly up: boolean | null;
  /** Seconds since the owner reported, of the machine itself where there are leases; by the database's clock. */
  readonly age: number | null;
  /** How often its owner changed under leases; null where there are none. */
  readonly epoch: number | null;
  /** Who holds it and for how long, or that its host is fenced. */
  readonly lock: string | null;
  /** What Nova is doing with its instance, or how that is. */
  readonly state: string | null;
  readonly instance: string | null;
}
