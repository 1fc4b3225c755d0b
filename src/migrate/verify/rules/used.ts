import type { Json } from "../../../lib/json.ts";
import type { Row } from "../../../model/machine.ts";
import type { NovaStep, RowState } from "../../../model/nova/nova-plan.ts";
import type { FieldChange } from "../../../model/plan.ts";

export type Tally = ReturnType<typeof emptyTally>;

export function emptyTally() {
  const uncleaned: string[] = [];
  return {
    ...{ validated: 0, mismatched: 0, missing: 0, extra: 0, suspended: 0 },
    /** Rows that differ because the machine was used after its hand-over. */
    used: 0,
    /** Rows that differ only in fields that a conductor changes. */
    ironics_own: 0,
    /** Machines in the maintenance of a staged load. */
    staged: 0,
    /** UUIDs of nodes with automated cleaning disabled. */
    uncleaned,
    /** Machines that the plan excludes: skipped, blocked, in conflict. */
    left_out: 0,
  };
}

export type NovaTally = ReturnType<typeof emptyNovaTally>;

/** @param placement whether Placement was compared */
export function emptyNovaTally(placement: boolean) {
  return {
    ...{ after: 0, before: 0, other: 0, machines: 0, instances: 0, placement },
    ...{ hypervisors: 0, providers: 0 },
    /** Machines without a compute node of the ironic driver that need none yet. */
    awaited: 0,
    /** Machines of `--final` without a nova-compute. */
    unreported: 0,
    /** Rows that differ because their machine was used. */
    used: 0,
  };
}

export interface Verified {
  readonly tally: Tally;
  /** Secrets that the service masks, so they cannot be compared. */
  readonly hidden: number;
  readonly nova: NovaTally | null;
}

/** Whether all compared rows are as planned, or explained by use since the hand-over. */
export function isEqual({ tally, nova }: Pick<Verified, "tally" | "nova">): boolean {
  const wrong = tally.mismatched + tally.missing + tally.extra + tally.suspended;
  return wrong === 0 && (nova === null || nova.before + nova.other === 0);
}

export function comparedOf(tally: Tally): number {
  const { validated, mismatched, missing, extra, suspended, used } = tally;
  return validated + mismatched + missing + extra + suspended + used;
}

/** Machines whose instance changed since the hand-over: current instance by node UUID. */
export type Used = Map<string, string | null>;

/**
 * Fields that Ironic and Nova's driver change on deploy, rebuild, rescue and delete. Juno's driver
 * keeps the flavor's images in driver_info.
 * @source facts/rehearsal.md 2, 6
 */
const BY_USE =
  /^(?:provision_state|target_provision_state|provision_updated_at|instance_uuid|allocation_id|clean_step|deploy_step|instance_info|driver_internal_info|protected|protected_reason|(?:instance_info|driver_internal_info|clean_step|deploy_step)\..*|driver_info\.pxe_deploy_(?:kernel|ramdisk))$/;

const PORT_BY_USE = /^(?:extra\.vif_port_id|internal_info(?:\..*)?)$/;

/** States of a machine in use, with and without an instance, in transition or stable. */
const WITH: ReadonlySet<Json> = new Set([
  ...["active", "rebuild", "deploying", "wait call-back", "deploy hold"],
  ...["rescue", "rescuing", "rescue wait", "unrescuing", "deleting"],
]);

const WITHOUT: ReadonlySet<Json> = new Set([
  // In Juno, an available machine has no state name.
  ...[null, "available", "cleaning", "clean wait", "deleted"],
]);

export function isByUse(planned: Row, field: string): boolean {
  // The operator changes deploy_interface before deleting or rebuilding such a machine (N2I-D409).
  return (
    BY_USE.test(field) || (field === "deploy_interface" && planned.deploy_interface === "ramdisk")
  );
}

/**
 * Whether a node's differences are from its use since the hand-over: a conductor manages it, its
 * provision state changed since the plan, and state and instance match. Failed states and lost
 * instances do not count. While Nova claims or frees a node, they may differ for a moment:
 * `moving`.
 * @source facts/rehearsal.md 3: a node in use without its instance is never powered off
 */
export function useOf(
  planned: Row,
  found: Row,
  differs: readonly FieldChange[],
): "used" | "moving" | null {
  if (!differs.some(({ field }) => BY_USE.test(field))) return null;
  const { provision_state = null, instance_uuid = null } = found;
  const handed =
    typeof found.power_state === "string" || (found.conductor_affinity ?? null) !== null;
  if (!handed) return null;
  // An available machine may already have a new instance.
  const isNewUse = WITH.has(provision_state)
    ? instance_uuid !== null
    : WITHOUT.has(provision_state) &&
      !(instance_uuid !== null && instance_uuid === planned.instance_uuid);
  if (isNewUse && isLater(found.provision_updated_at, planned.provision_updated_at)) return "used";
  return WITHOUT.has(provision_state) || provision_state === "deleting" ? "moving" : null;
}

/** Whether all differences of a port are from the use of its node. */
export function isPortUsed(differs: readonly FieldChange[]): boolean {
  return differs.length > 0 && differs.every(({ field }) => PORT_BY_USE.test(field));
}

/** Both times are in the format of Ironic's database or API: without a zone, or UTC. */
function isLater(found: Json | undefined, planned: Json | undefined): boolean {
  if (typeof found !== "string") return false;
  return typeof planned !== "string" || plain(found) > plain(planned);
}

function plain(time: string): string {
  return time.replace("T", " ").replace(/(?:Z|\+00:00)$/, "");
}

const AT_ITS_END: ReadonlySet<string> = new Set(["deleted", "host", "node", "task_state"]);

/** Whether the result of this row depends on its machine in Ironic. */
export function mayBeUsed({ table }: NovaStep, { is }: RowState): boolean {
  return is === "other" && table === "instances";
}

/**
 * Whether a Nova row that the plan changed is explained by use: its instance is deleted or
 * archived, and Ironic's node no longer has it.
 */
export function isStepUsed(
  step: NovaStep,
  state: RowState,
  used: ReadonlyMap<string, string | null>,
): boolean {
  const { machine, after } = step;
  const { fields } = state;
  const now = used.get(machine?.toLowerCase() ?? "");
  if (!mayBeUsed(step, state) || now === undefined) return false;
  if (String(after?.uuid).toLowerCase() === now?.toLowerCase()) return false;
  // A deleted row has no fields.
  return (
    fields === undefined ||
    (fields.includes("deleted") && fields.every((field) => AT_ITS_END.has(field)))
  );
}

/** Whether Nova is changing an instance, or was when its nova-compute failed. */
export function isMoving({ is, fields = [] }: RowState): boolean {
  return (
    is === "other" &&
    fields.includes("task_state") &&
    fields.every((field) => AT_ITS_END.has(field))
  );
}
