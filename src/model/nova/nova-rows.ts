import type { NovaIdentity } from "./nova-plan.ts";
import type { OpenRequest } from "./requests.ts";

/** A live nova-compute service. */
export interface NovaService {
  readonly id: number;
  readonly host: string;
  readonly disabled: boolean | null;
  readonly disabled_reason: string | null;
}

/** What of a nova database does not belong to one machine. */
export interface NovaWorld {
  readonly identity: NovaIdentity;
  readonly services: readonly NovaService[];
  /** Host -> ids of the live aggregates it is in. */
  readonly aggregates: ReadonlyMap<string, readonly number[]>;
  /** Hosts that own a compute node of nova-baremetal. */
  readonly baremetal: readonly string[];
  /** Host -> hypervisor types of its live compute nodes that are of neither driver for machines. */
  readonly foreign: ReadonlyMap<string, readonly string[]>;
  /** Host -> live instances on those. */
  readonly guests: ReadonlyMap<string, number>;
}

export interface InstanceRow {
  readonly id: number;
  readonly uuid: string;
  readonly host: string | null;
  readonly node: string | null;
  readonly task_state: string | null;
  readonly deleted: number | null;
}

export interface ComputeRow {
  readonly id: number;
  readonly service_id: number | null;
  /** Since Kilo; NULL until a nova-compute of Kilo wrote the row. Absent before. */
  readonly host?: string | null;
  readonly hypervisor_hostname: string | null;
  readonly deleted: number | null;
  readonly deleted_at: string | null;
}

/** What Nova offers of a machine: a live row of compute_nodes. */
export interface ComputeSize {
  readonly id: number;
  readonly hypervisor_type: string | null;
  readonly vcpus: number | null;
  /** MiB. */
  readonly memory_mb: number | null;
  /** GiB. */
  readonly local_gb: number | null;
}

/** Where Nova offers a machine. */
export interface ComputePlace {
  readonly id: number;
  /** Of its service, or as it says itself. */
  readonly host: string | null;
  readonly hypervisor_hostname: string;
  /** `ironic`, or nova-baremetal's `baremetal`. */
  readonly hypervisor_type: string | null;
}

/** A machine's rows in nova, as they are when the plan is made. */
export interface MachineRows {
  readonly instance: InstanceRow | null;
  /** Whether instances.node is a live compute node that is not this machine's. */
  readonly elsewhere: boolean;
  /** Volumes attached to its instance, by their uuid. */
  readonly volumes: readonly string[];
  /** Live rows of the node, oldest first. */
  readonly computes: readonly ComputeRow[];
  /** Requests that lie in the queue of its instance's host; absent where nobody looked. */
  readonly queued?: readonly OpenRequest[];
}

/** What stays on a host when our machines are gone from it. */
export interface HostUse {
  readonly instances: number;
  readonly computes: number;
}

export interface FlavorRow {
  readonly id: number;
  readonly name: string | null;
  readonly flavorid: string | null;
  readonly deleted: number | null;
}

export interface SpecRow {
  /** 0 where a service has it, which tells no ids. */
  readonly id: number;
  /** Id of its flavor. */
  readonly instance_type_id: number;
  readonly key: string;
  readonly value: string | null;
  readonly deleted: number | null;
  readonly deleted_at: string | null;
  /** Of a row that is deleted for good, and so has to come back whole. */
  readonly created_at?: string | null;
  readonly updated_at?: string | null;
}

/** Where flavors are: each has its own way to add, change and delete an extra spec. */
export type FlavorPlace = "nova" | "nova_api";

/** Flavors with their live extra specs, and where live instances of them are. */
export interface FlavorRows {
  readonly place: FlavorPlace;
  readonly flavors: readonly FlavorRow[];
  readonly specs: readonly SpecRow[];
  /** Flavor id -> hosts of its live instances. */
  readonly hosts: ReadonlyMap<number, readonly string[]>;
}
