import { isObject } from "../../lib/json.ts";
import { compareRow, type SameSecret } from "../../model/compare.ts";
import type { Row } from "../../model/machine.ts";

/** Why a machine is in maintenance while a rollback takes it back. Never change it: it marks ours. */
export const UNDOING = "nova2ironic: rollback deletes it";

/**
 * States a node passes on the way to its goal, and whether a conductor leaves one by itself: then
 * there is nothing to do but wait. Every other state (`clean wait`, `inspecting`, `deleting`...) is
 * somebody else's doing, and reported.
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
/** What `provide` passes through without touching a disk, where the node itself refuses cleaning. */
const PROVIDING = "cleaning";
/** What the way itself writes after a node was made. */
const STATE = ["provision_state", "target_provision_state", "last_error"];
const HOLD = ["maintenance", "maintenance_reason"];
const GUARD = ["protected", "protected_reason"];

/**
 * Fields a service fills in when a node is made without them: the owner of who logs in for a
 * project (since Zed, whatever is asked for), and [DEFAULT]default_resource_class.
 */
const FILLED = ["owner", "resource_class"];

/**
 * Whether a node refuses cleaning as it does to become available untouched: that is set right at its
 * end, and one that refuses it after that does so by somebody's will.
 */
export function isUntouched(planned: Row, found: Row): boolean {
  return (
    planned.provision_state === "available" &&
    found.automated_clean === false &&
    planned.automated_clean !== false
  );
}

/** A planned node as it is made: a free one refuses cleaning until it is available. */
export function asMade(planned: Row): Row {
  return planned.provision_state === "available" ? { ...planned, automated_clean: false } : planned;
}

type FoundState =
  /** As planned, or on its way there and by our hand. */
  | { readonly is: "planned" | "half-made" }
  /** Ours, and somebody changed these fields. */
  | { readonly is: "changed"; readonly fields: readonly string[] }
  /** Without our mark of this machine. */
  | { readonly is: "not ours" };

/**
 * What a node that is there already is to the plan. Half-made is one that carries our mark and
 * differs in nothing but what the way has still to write.
 *
 * @param ended whether the journal says the machine came to its end
 */
export function foundState(planned: Row, found: Row, same: SameSecret, ended: boolean): FoundState {
  if (markOf(found) === undefined || markOf(found) !== markOf(planned)) return { is: "not ours" };
  const fields = compareRow(planned, found, same).differs.map(({ field }) => field);
  const unguarded = GUARD.filter((field) => isUnset(planned, found, field));
  if (fields.length === 0) return { is: unguarded.length === 0 ? "planned" : "half-made" };
  const undoing = isBeingUndone(found);
  const under = isOnWay(planned, found);
  const held = undoing || planned.maintenance === true;
  const ours = new Set([
    ...(under ? STATE : []),
    ...(under && wantsTraits(planned, found) ? ["traits"] : []),
    ...unplanned(planned, found),
    ...(!ended && isUntouched(planned, found) ? ["automated_clean"] : []),
    ...(under || undoing ? GUARD : unguarded),
    ...(held && (under || !ended || undoing) ? HOLD : []),
  ]);
  const changed = fields.filter((field) => !ours.has(field));
  return changed.length === 0 ? { is: "half-made" } : { is: "changed", fields: changed };
}

/**
 * Whether a machine is guarded less than planned: protection is the way's last step, which may have
 * failed, or not been made, and has still to be. More of it, or other, is somebody else's.
 */
function isUnset(planned: Row, found: Row, field: string): boolean {
  const isNone = (value: unknown): boolean =>
    value === undefined || value === null || value === false;
  return isNone(found[field]) && !isNone(planned[field]);
}

/** Whether a node is in a state of the way, short of its end. */
export function isOnWay(planned: Row, found: Row): boolean {
  const state = String(found.provision_state);
  if (state === planned.provision_state) return false;
  return Object.hasOwn(ON_WAY, state) || isPassedThrough(planned, found);
}

/** Whether a free machine is on its way from manageable to available, and nothing is wiped. */
export function isPassedThrough(planned: Row, found: Row): boolean {
  return (
    found.provision_state === PROVIDING &&
    planned.provision_state === "available" &&
    found.automated_clean === false
  );
}

/** Fields of a node made a moment ago that the service filled in otherwise than planned. */
export function unplanned(planned: Row, found: Row): readonly string[] {
  if (found.provision_state !== "enroll") return [];
  return FILLED.filter((field) => (planned[field] ?? null) !== (found[field] ?? null));
}

/** Whether the planned traits are to be written next: in a state of the way in which a node waits for our next step. */
export function takesTraits(planned: Row, found: Row): boolean {
  return ON_WAY[String(found.provision_state)] === "stays" && wantsTraits(planned, found);
}

/** Whether the planned traits, which no node is made with, have still to be written. */
function wantsTraits(planned: Row, found: Row): boolean {
  return isLong(planned.traits) && !isLong(found.traits);
}

function isLong(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** Whether a conductor leaves the state by itself, and soon. */
export function isPassing(planned: Row, found: Row): boolean {
  return ON_WAY[String(found.provision_state)] === "passes" || isPassedThrough(planned, found);
}

/** Whether a rollback of this tool was taking the node back. */
export function isBeingUndone({ maintenance, maintenance_reason }: Row): boolean {
  return maintenance === true && maintenance_reason === UNDOING;
}

/** The bm_nodes id a row says it comes from. */
function markOf({ extra }: Row): unknown {
  return isObject(extra) && isObject(extra.nova_bm) ? extra.nova_bm.id : undefined;
}
