import type { Row } from "../../model/machine.ts";
import type { FieldChange } from "../../model/plan.ts";
import { isOldPowerError } from "../../model/power.ts";

/**
 * What of a loaded node must not be so any more when Nova has its machines: the maintenance of a
 * staged load or of a conductor that gave up, no power state, an error. Ironic may write all of them,
 * so they are no differences from the plan, and to Nova such a node is not there.
 *
 * @source facts/rehearsal.md 3
 */
export function unsettled(planned: Row, found: Row): readonly FieldChange[] {
  const differs: FieldChange[] = [];
  const not = (field: string, wanted: FieldChange["planned"]): void => {
    differs.push({ field, planned: wanted, found: found[field] ?? null });
  };
  const held = planned.maintenance === true;
  if (!held && found.maintenance === true) not("maintenance", false);
  // No conductor asks for the power of a node in maintenance.
  if (!held && found.power_state === null) not("power_state", "a power state");
  const { last_error } = found;
  if (typeof last_error === "string" && last_error !== planned.last_error)
    if (!isOldPowerError(last_error, found.power_state))
      not("last_error", planned.last_error ?? null);
  return differs;
}
