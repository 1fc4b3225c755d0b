import type { Json } from "../../../lib/json.ts";
import type { Row } from "../../../model/machine.ts";
import type { NovaStep, RowState } from "../../../model/nova/nova-plan.ts";
import type { FieldChange, PlannedMachine } from "../../../model/plan.ts";

/** Machines whose tenant changed since the hand-over: node uuid -> the instance it has now. */
export type Used = Map<string, string | null>;

/**
 * What Ironic and Nova's driver change on a node that is deployed, rebuilt, rescued or deleted; Juno's
 * driver keeps the flavor's images in driver_info.
 *
 * @source facts/rehearsal.md 2, 6
 */
const BY_USE =
  /^(?:provision_state|target_provision_state|provision_updated_at|instance_uuid|allocation_id|clean_step|deploy_step|instance_info|driver_internal_info|protected|protected_reason|(?:instance_info|driver_internal_info|clean_step|deploy_step)\..*|driver_info\.pxe_deploy_(?:kernel|ramdisk))$/;

/** What Neutron and Nova change on its ports. */
const PORT_BY_USE = /^(?:extra\.vif_port_id|internal_info(?:\..*)?)$/;

/** States of a machine that is used, with an instance and without one, on the way or at rest. */
const WITH: ReadonlySet<Json> = new Set([
  ...["active", "rebuild", "deploying", "wait call-back", "deploy hold"],
  ...["rescue", "rescuing", "rescue wait", "unrescuing", "deleting"],
]);
const WITHOUT: ReadonlySet<Json> = new Set([
  // Juno's name of a machine that is free is none.
  ...[null, "available", "cleaning", "clean wait", "deleted"],
]);

/** Whether use may change a field of this node. */
export function isByUse(planned: Row, field: string): boolean {
  // Whoever is to delete or rebuild a machine under ramdisk sets another deploy_interface first (N2I-D409).
  return (
    BY_USE.test(field) || (field === "deploy_interface" && planned.deploy_interface === "ramdisk")
  );
}

/**
 * Whether the differences of a node that use may make are of its use since the hand-over: a conductor has it,
 * its provision state was changed since the plan, and state and instance fit each other. A state that
 * says that something failed, or an instance that is lost from a node in use, explains nothing. While
 * Nova claims or frees a node they do not fit for a moment: then it is `moving`.
 *
 * @source facts/rehearsal.md 3: a node in use without its instance is a machine nobody stops
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
  // A free machine may be claimed already, by another instance than it had.
  const fits = WITH.has(provision_state)
    ? instance_uuid !== null
    : WITHOUT.has(provision_state) &&
      !(instance_uuid !== null && instance_uuid === planned.instance_uuid);
  if (fits && isLater(found.provision_updated_at, planned.provision_updated_at)) return "used";
  return WITHOUT.has(provision_state) || provision_state === "deleting" ? "moving" : null;
}

/** Whether the differences of a port are what the use of its node makes. */
export function isPortUsed(differs: readonly FieldChange[]): boolean {
  return differs.length > 0 && differs.every(({ field }) => PORT_BY_USE.test(field));
}

/** Both as Ironic's database or API writes them: naive, or with a zone that is UTC. */
function isLater(found: Json | undefined, planned: Json | undefined): boolean {
  if (typeof found !== "string") return false;
  return typeof planned !== "string" || plain(found) > plain(planned);
}

function plain(time: string): string {
  return time.replace("T", " ").replace(/(?:Z|\+00:00)$/, "");
}

/** Columns of an instance's row that its end changes. */
const AT_ITS_END: ReadonlySet<string> = new Set(["deleted", "host", "node", "task_state"]);

/** Whether only what Ironic says of its machine tells how such a row is to be judged. */
export function mayBeUsed({ table }: NovaStep, { is }: RowState): boolean {
  return is === "other" && table === "instances";
}

/**
 * Whether a row that the plan changed in Nova is as the use of its machine leaves it: an instance that
 * Ironic's node has no more was deleted in Nova, or is archived.
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
  // A row that is gone has no fields.
  return (
    fields === undefined ||
    (fields.includes("deleted") && fields.every((field) => AT_ITS_END.has(field)))
  );
}

/** Whether Nova is working on an instance just now, or was when its nova-compute died. */
export function isMoving({ is, fields = [] }: RowState): boolean {
  return (
    is === "other" &&
    fields.includes("task_state") &&
    fields.every((field) => AT_ITS_END.has(field))
  );
}

/** The plan's machines, with the instance that each has by now where it was used since. */
export async function* asUsed(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  used: ReadonlyMap<string, string | null>,
): AsyncGenerator<readonly PlannedMachine[]> {
  for await (const batch of machines)
    yield batch.map((machine) => {
      const now = used.get(machine.uuid?.toLowerCase() ?? "");
      if (now === undefined) return machine;
      const records = machine.records.map((record) =>
        record.resource === "node"
          ? { ...record, row: { ...record.row, instance_uuid: now } }
          : record,
      );
      return { ...machine, records };
    });
}
