import { isObject } from "../../lib/json.ts";
import { compareRow, type SameSecret } from "../../model/compare.ts";
import type { Row } from "../../model/machine.ts";

/** Maintenance reason during rollback. Existing nodes carry it, so it must not change. */
export const UNDOING = "nova2ironic: rollback deletes it";

/**
 * States on the way to the goal. The conductor leaves `passes` by itself. Other states come from
 * other users and are reported.
 *
 * @source facts/ironic.md 2.1
 */
const ON_WAY: { readonly [state: string]: "stays" | "passes" } = {
  enroll: "stays",
  verifying: "passes",
  manageable: "stays",
  adopting: "passes",
  "adopt failed": "stays",
};
/** The state during `provide`. No disk is touched if the node disables cleaning. */
const PROVIDING = "cleaning";
const STATE = ["provision_state", "target_provision_state", "last_error"];
const HOLD = ["maintenance", "maintenance_reason"];
const GUARD = ["protected", "protected_reason"];

/**
 * Defaults of the service: the owner for a project-scoped login (since Zed, even if set), and
 * [DEFAULT]default_resource_class.
 */
const FILLED = ["owner", "resource_class"];

/** Whether cleaning is disabled only until the node is available. */
export function isUntouched(planned: Row, found: Row): boolean {
  return (
    planned.provision_state === "available" &&
    found.automated_clean === false &&
    planned.automated_clean !== false
  );
}

/** A free node is created with cleaning disabled until it is available. */
export function asMade(planned: Row): Row {
  return planned.provision_state === "available" ? { ...planned, automated_clean: false } : planned;
}

type FoundState =
  /** As planned, or partly completed by this tool. */
  | { readonly is: "planned" | "half-made" }
  /** Created by this tool, with these fields changed by another user. */
  | { readonly is: "changed"; readonly fields: readonly string[] }
  /** Without this tool's mark of the machine. */
  | { readonly is: "not ours" };

/**
 * `half-made` has our mark and lacks only later steps.
 *
 * @param ended whether the journal has the machine as completed
 */
export function foundState(planned: Row, found: Row, same: SameSecret, ended: boolean): FoundState {
  if (markOf(found) === undefined || markOf(found) !== markOf(planned)) return { is: "not ours" };
  const fields = compareRow(planned, found, same).differs.map(({ field }) => field);
  const unguarded = GUARD.filter((field) => isUnset(planned, found, field));
  if (fields.length === 0) return { is: unguarded.length === 0 ? "planned" : "half-made" };
  const undoing = isBeingUndone(found);
  const under = isOnTransition(planned, found);
  const inMaintenance = undoing || planned.maintenance === true;
  const expectedFields = new Set([
    ...(under ? STATE : []),
    ...(under && requiresTraits(planned, found) ? ["traits"] : []),
    ...unplanned(planned, found),
    ...(!ended && isUntouched(planned, found) ? ["automated_clean"] : []),
    ...(under || undoing ? GUARD : unguarded),
    ...(inMaintenance && (under || !ended || undoing) ? HOLD : []),
  ]);
  const changed = fields.filter((field) => !expectedFields.has(field));
  return changed.length === 0 ? { is: "half-made" } : { is: "changed", fields: changed };
}

/** Whether protection, the last step, is missing. Other protection was set by another user. */
function isUnset(planned: Row, found: Row, field: string): boolean {
  const isNone = (value: unknown): boolean =>
    value === undefined || value === null || value === false;
  return isNone(found[field]) && !isNone(planned[field]);
}

export function isOnTransition(planned: Row, found: Row): boolean {
  const state = String(found.provision_state);
  if (state === planned.provision_state) return false;
  return Object.hasOwn(ON_WAY, state) || isPassedThrough(planned, found);
}

/** Whether a free machine is becoming available without cleaning. */
export function isPassedThrough(planned: Row, found: Row): boolean {
  return (
    found.provision_state === PROVIDING &&
    planned.provision_state === "available" &&
    found.automated_clean === false
  );
}

/** Fields of a new node in which the service's default differs from the plan. */
export function unplanned(planned: Row, found: Row): readonly string[] {
  if (found.provision_state !== "enroll") return [];
  return FILLED.filter((field) => (planned[field] ?? null) !== (found[field] ?? null));
}

/** Whether to write the traits next: in a state that waits for this tool. */
export function takesTraits(planned: Row, found: Row): boolean {
  return ON_WAY[String(found.provision_state)] === "stays" && requiresTraits(planned, found);
}

/** Nodes are created without traits. */
function requiresTraits(planned: Row, found: Row): boolean {
  return isLong(planned.traits) && !isLong(found.traits);
}

function isLong(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** Whether the conductor leaves the state soon. */
export function isPassing(planned: Row, found: Row): boolean {
  return ON_WAY[String(found.provision_state)] === "passes" || isPassedThrough(planned, found);
}

/** Whether a rollback of this tool started to delete the node. */
export function isBeingUndone({ maintenance, maintenance_reason }: Row): boolean {
  return maintenance === true && maintenance_reason === UNDOING;
}

function markOf({ extra }: Row): unknown {
  return isObject(extra) && isObject(extra.nova_bm) ? extra.nova_bm.id : undefined;
}
