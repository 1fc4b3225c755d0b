import type { Texts } from "../rows.ts";
import type { InstanceRow } from "./nova-rows.ts";

/** `bm_nodes.task_state` and `instances.task_state` during a move. @source systems.md A5 */
export const MIGRATING = "migrating";

export interface LegacyNode
  extends Texts<"service_host" | "task_state" | "prev_task_state" | "instance_uuid"> {
  readonly id: number;
  readonly uuid: string;
  readonly service_epoch: number;
}

export interface LegacyTenant extends Omit<InstanceRow, "deleted"> {
  readonly vm_state: string | null;
  readonly locked: boolean;
  /** Null if unlocked. A move locks the instance without changing this. */
  readonly locked_by: string | null;
  readonly deleted: boolean;
}

/** A move of a nova-baremetal machine, with the previous state for rollback. */
export interface LegacyMove {
  /** bm_nodes.id. */
  readonly id: number;
  readonly uuid: string;
  readonly from: string;
  readonly to: string;
  /** bm_nodes.service_epoch before the move. Each change of the owner increments it. */
  readonly epoch: number;
  /** bm_nodes.task_state before and after. */
  readonly before: string | null;
  readonly after: string | null;
  /** An earlier move died, so the machine is already `migrating`. */
  readonly begun: boolean;
  readonly tenant: LegacyTenantMove | null;
  /** Whether its boot files are created on the new host. */
  readonly boots: boolean;
}

/** Its instance before and after. */
export interface LegacyTenantMove {
  readonly id: number;
  readonly uuid: string;
  readonly node: string;
  /** After a move that died, possibly neither the old nor the new owner. */
  readonly host: string;
  readonly locked: boolean;
  /** Task of a deployment during which its host died, else null. */
  readonly task_state: string | null;
  /** task_state of a lost request. Rollback omits it, because nova-compute would repeat it. */
  readonly request?: string;
  /** instances.vm_state before and after. */
  readonly before: string | null;
  readonly after: string | null;
}
