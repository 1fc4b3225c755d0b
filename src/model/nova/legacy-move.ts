/** What `bm_nodes.task_state` and `instances.task_state` say of a machine that is under way. @source systems.md A5 */
export const MIGRATING = "migrating";

/** A row of an extended bm_nodes, as far as a move looks at it. */
export interface LegacyNode {
  readonly id: number;
  readonly uuid: string;
  readonly service_host: string | null;
  readonly service_epoch: number;
  readonly task_state: string | null;
  readonly prev_task_state: string | null;
  readonly instance_uuid: string | null;
}

/** The instance on it, live or deleted. */
export interface LegacyTenant {
  readonly id: number;
  readonly uuid: string;
  readonly host: string | null;
  readonly node: string | null;
  readonly vm_state: string | null;
  readonly task_state: string | null;
  readonly locked: boolean;
  /** Null where nobody locked it: a move locks and leaves this as it was. */
  readonly locked_by: string | null;
  readonly deleted: boolean;
}

/** A machine of nova-baremetal that goes to another host, and what it was before: the way back needs no more. */
export interface LegacyMove {
  /** bm_nodes.id. */
  readonly id: number;
  readonly uuid: string;
  readonly from: string;
  readonly to: string;
  /** bm_nodes.service_epoch before; one more with each change of the owner. */
  readonly epoch: number;
  /** bm_nodes.task_state before, and what it ends as. */
  readonly before: string | null;
  readonly after: string | null;
  /** Somebody died over it: it is `migrating` already. */
  readonly begun: boolean;
  readonly tenant: LegacyTenantMove | null;
  /** Whether its boot files are made on the new host. */
  readonly boots: boolean;
}

/** Its instance before, and how it ends. */
export interface LegacyTenantMove {
  readonly id: number;
  readonly uuid: string;
  readonly node: string;
  /** Of a machine that somebody died over it may be neither old nor new owner's. */
  readonly host: string;
  readonly locked: boolean;
  /** What Nova was doing with it when its host died in a deploy; null otherwise. */
  readonly task_state: string | null;
  /** task_state of a request that somebody took for lost: no way back brings it again, as nova-compute would repeat it. */
  readonly request?: string;
  /** instances.vm_state before and after. */
  readonly before: string | null;
  readonly after: string | null;
}
