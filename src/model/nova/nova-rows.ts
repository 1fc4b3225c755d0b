import type { NovaIdentity } from "./nova-plan.ts";
import type { OpenRequest } from "./requests.ts";

export interface NovaService {
  readonly id: number;
  readonly host: string;
  readonly disabled: boolean | null;
  readonly disabled_reason: string | null;
}

export interface NovaTables {
  readonly identity: NovaIdentity;
  readonly services: readonly NovaService[];
  /** Host -> ids of its live aggregates. */
  readonly aggregates: ReadonlyMap<string, readonly number[]>;
  /** Hosts with a compute node of nova-baremetal. */
  readonly baremetal: readonly string[];
  /** Host -> hypervisor types of its live compute nodes with other drivers. */
  readonly foreign: ReadonlyMap<string, readonly string[]>;
  /** Host -> live instances on these compute nodes. */
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
  /** Since Kilo; NULL until a nova-compute of Kilo writes the row. Absent before. */
  readonly host?: string | null;
  readonly hypervisor_hostname: string | null;
  readonly deleted: number | null;
  readonly deleted_at: string | null;
}

export interface ComputeSize {
  readonly id: number;
  readonly hypervisor_type: string | null;
  readonly vcpus: number | null;
  /** MiB. */
  readonly memory_mb: number | null;
  /** GiB. */
  readonly local_gb: number | null;
}

export interface ComputeLocation {
  readonly id: number;
  /** From its service, or from the row. */
  readonly host: string | null;
  readonly hypervisor_hostname: string;
  /** `ironic`, or nova-baremetal's `baremetal`. */
  readonly hypervisor_type: string | null;
}

export interface MachineRows {
  readonly instance: InstanceRow | null;
  /** Whether instances.node is a live compute node of another machine. */
  readonly elsewhere: boolean;
  /** Uuids of attached volumes. */
  readonly volumes: readonly string[];
  /** Live rows of the node, oldest first. */
  readonly computes: readonly ComputeRow[];
  /** Queued requests of its instance's host. Absent if not read. */
  readonly queued?: readonly OpenRequest[];
}

/** Remaining use of a host without our machines. */
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
  /** 0 from a service, which returns no ids. */
  readonly id: number;
  /** Flavor id. */
  readonly instance_type_id: number;
  readonly key: string;
  readonly value: string | null;
  readonly deleted: number | null;
  readonly deleted_at: string | null;
  /** For a row that was deleted permanently, and must be restored completely. */
  readonly created_at?: string | null;
  readonly updated_at?: string | null;
}

/** Database of flavors, which determines how extra specs are changed. */
export type FlavorDatabase = "nova" | "nova_api";

export interface FlavorRows {
  readonly schema: FlavorDatabase;
  readonly flavors: readonly FlavorRow[];
  readonly specs: readonly SpecRow[];
  /** Flavor id -> hosts of its live instances. */
  readonly hosts: ReadonlyMap<number, readonly string[]>;
}
