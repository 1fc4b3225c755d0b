import { compareRow, type SameSecret } from "../../model/compare.ts";
import { isObject } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";

/** Why a machine is in maintenance while a rollback takes it back. Never change it: it marks ours. */
export const UNDOING = "nova2ironic: rollback deletes it";

/** States a node passes on the road to its goal. @source facts/ironic.md 2.1 */
const ON_ROAD: ReadonlySet<string> = new Set([
  "enroll",
  "verifying",
  "manageable",
  "adopting",
  "adopt failed",
]);
/** What the road itself writes after a node was made. */
const STATE = ["provision_state", "target_provision_state", "last_error"];
const HOLD = ["maintenance", "maintenance_reason"];
const GUARD = ["protected", "protected_reason"];

export type Standing =
  /** As planned, or on its way there and by our hand. */
  | { readonly is: "planned" | "half-made" }
  /** Ours, and somebody changed these fields. */
  | { readonly is: "changed"; readonly fields: readonly string[] }
  /** Without our mark of this machine. */
  | { readonly is: "foreign" };

/**
 * What a node that is there already is to the plan. Half-made is one that carries our mark and
 * differs in nothing but what the road has still to write.
 *
 * @param ended whether the journal says the machine's batch came to its end
 */
export function standingOf(planned: Row, found: Row, same: SameSecret, ended: boolean): Standing {
  if (markOf(found) === undefined || markOf(found) !== markOf(planned)) return { is: "foreign" };
  const fields = compareRow(planned, found, same).differs.map(({ field }) => field);
  if (fields.length === 0) return { is: "planned" };
  const state = String(found.provision_state);
  const arrived = state === planned.provision_state;
  const undoing = found.maintenance === true && found.maintenance_reason === UNDOING;
  const ours = new Set([
    ...(ON_ROAD.has(state) && !arrived ? [...STATE, ...HOLD, ...GUARD] : []),
    ...(arrived && !ended ? [...HOLD.filter(() => planned.maintenance === true), ...GUARD] : []),
    ...(undoing ? [...STATE.filter(() => ON_ROAD.has(state)), ...HOLD, ...GUARD] : []),
  ]);
  const changed = fields.filter((field) => !ours.has(field));
  return changed.length === 0 ? { is: "half-made" } : { is: "changed", fields: changed };
}

/** The bm_nodes id a row says it comes from. */
function markOf({ extra }: Row): unknown {
  return isObject(extra) && isObject(extra.nova_bm) ? extra.nova_bm.id : undefined;
}
