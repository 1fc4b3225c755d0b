import type { Numbers, Texts } from "../rows.ts";
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

export interface InstanceRow extends Texts<"host" | "node" | "task_state">, Numbers<"deleted"> {
  readonly id: number;
  readonly uuid: string;
}

export interface ComputeRow
  extends Texts<"hypervisor_hostname" | "deleted_at">,
    Numbers<"service_id" | "deleted"> {
  readonly id: number;
  /** Since Kilo; NULL until a nova-compute of Kilo writes the row. Absent before. */
  readonly host?: string | null;
}

export interface ComputeSize
  extends Texts<"hypervisor_type">,
    Numbers<"vcpus" | "memory_mb" | "local_gb"> {
  readonly id: number;
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

export interface FlavorRow extends Texts<"name" | "flavorid">, Numbers<"deleted"> {
  readonly id: number;
}

export interface SpecRow {
  /** 0 from a service, which returns no ids. */
  readonly id: number;
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
