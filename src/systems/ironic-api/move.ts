import { isObject } from "../../lib/json.ts";
import { compareRow, type SameSecret } from "../../model/compare.ts";
import type { NodeChange } from "../../model/ironic/rest.ts";
import type { Row } from "../../model/machine.ts";
import { lowerCaseText } from "./body.ts";
import { type NodeCall, nodeCalls } from "./node.ts";

export interface Call extends NodeCall {
  readonly do: "call";
  readonly name: string;
  /** The effect of an accepted call: these fields, the response body, or visible later. */
  readonly shows: Row | "answer" | "later";
}

type Move =
  | Call
  | { readonly do: "wait" }
  | { readonly do: "done" }
  | { readonly do: "stop"; readonly reason: string };

function call(name: string, write: NodeCall, shows: Call["shows"]): Call {
  return { do: "call", name, ...write, shows };
}

type History = ReturnType<typeof noHistory>;

/** `failed`: the error of the first adoption. `retried`: `adopt` was accepted after that error. */
export function noHistory() {
  return { managed: false, failed: null as string | null, retried: false };
}

export function note(history: History, call: Call["name"], found: Row): void {
  if (call === "adopt") history.retried = history.failed !== null;
  if (call !== "manage") return;
  if (found.provision_state === "adopt failed") history.failed ??= errorOf(found);
  else history.managed = true;
}

/**
 * The next step towards the planned state. Pure, so it does not matter who performed earlier steps.
 *
 * @source facts/ironic.md 4.2
 */
export function nextMove(planned: Row, found: Row, history: History): Move {
  const { provision_state: state } = found;
  const goal = planned.provision_state;
  const uuid = String(planned.uuid);
  const provision = (target: "manage" | "adopt" | "provide"): Call =>
    call(target, nodeCalls.provision(uuid, target), "later");
  if (planned.maintenance === true && !isInMaintenance(planned, found)) {
    const maintenance_reason = lowerCaseText(planned.maintenance_reason);
    const shows = { maintenance: true, maintenance_reason };
    return call("hold", nodeCalls.maintenance(uuid, maintenance_reason), shows);
  }
  // After an interrupted rollback of this tool.
  if (planned.maintenance !== true && isBeingUndone(found)) {
    const shows = { maintenance: false, maintenance_reason: null };
    return call("release", nodeCalls.endMaintenance(uuid), shows);
  }
  // Fields in which the service's default differs from the plan.
  const other = unplanned(planned, found);
  if (other.length > 0) return change("fill", planned, other);
  // In a state that waits for this tool.
  if (MOVING[String(state)] === "stays" && requiresTraits(planned, found)) {
    const { traits = [] } = planned;
    return call("traits", nodeCalls.traits(uuid, traits), { traits });
  }
  switch (state) {
    case "enroll":
      // Ironic always sets last_error if a change of state fails.
      return history.managed && lowerCaseText(found.last_error) !== null
        ? stop(`manage failed: ${errorOf(found)}`)
        : provision("manage");
    case "verifying":
    case "adopting":
      return { do: "wait" };
    case "cleaning":
      // Disabled cleaning passes this state without touching disks.
      return isPassedThrough(planned, found)
        ? { do: "wait" }
        : stop("it is being cleaned, which this tool never requests");
    case "adopt failed":
      if (history.retried)
        return stop(`adoption failed twice: first ${history.failed}; then ${errorOf(found)}`);
      return provision("manage");
    case "manageable":
      if (goal === "active") return provision("adopt");
      if (goal !== "available") return finish(planned, found);
      return found.automated_clean === false
        ? provision("provide")
        : stop("automated_clean is not false: provide would wipe its disks");
    default:
      return state === goal ? finish(planned, found) : stop(`it is ${String(state)}`);
  }
}

function change(name: string, planned: Row, fields: readonly string[]): Call {
  const changes = fields.map(
    (field): NodeChange => ({ path: [field], after: planned[field] ?? undefined }),
  );
  return call(name, nodeCalls.patch(String(planned.uuid), changes), "answer");
}

function stop(reason: string): Move {
  return { do: "stop", reason };
}

function errorOf(found: Row): string {
  return lowerCaseText(found.last_error) ?? "no reason is given";
}

function isInMaintenance(planned: Row, found: Row): boolean {
  // Some releases store an empty reason.
  const [is, expected] = [
    lowerCaseText(found.maintenance_reason),
    lowerCaseText(planned.maintenance_reason),
  ];
  return found.maintenance === true && is === expected;
}

function finish(planned: Row, found: Row): Move {
  // Restores the planned cleaning, which was disabled until the node was available.
  if (isUntouched(planned, found)) return change("settle", planned, ["automated_clean"]);
  const guards = ["protected", "protected_reason"].filter((field) => {
    const value = planned[field] ?? false;
    return value !== false && value !== found[field];
  });
  return guards.length === 0 ? { do: "done" } : change("protect", planned, guards);
}

/** Maintenance reason during rollback. Existing nodes carry it, so it must not change. */
export const UNDOING = "nova2ironic: rollback deletes it";

/**
 * States on the way to the goal. The conductor leaves `passes` by itself. Other states come from
 * other users and are reported.
 *
 * @source facts/ironic.md 2.1
 */
const MOVING: { readonly [state: string]: "stays" | "passes" } = {
  enroll: "stays",
  verifying: "passes",
  manageable: "stays",
  adopting: "passes",
  "adopt failed": "stays",
};
/** The state during `provide`. No disk is touched if the node disables cleaning. */
const PROVIDING = "cleaning";
const STATE = ["provision_state", "target_provision_state", "last_error"];
const MAINTENANCE = ["maintenance", "maintenance_reason"];
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
    ...(inMaintenance && (under || !ended || undoing) ? MAINTENANCE : []),
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
  return Object.hasOwn(MOVING, state) || isPassedThrough(planned, found);
}

/** Whether a free machine is becoming available without cleaning. */
function isPassedThrough(planned: Row, found: Row): boolean {
  return (
    found.provision_state === PROVIDING &&
    planned.provision_state === "available" &&
    found.automated_clean === false
  );
}

/** Fields of a new node in which the service's default differs from the plan. */
function unplanned(planned: Row, found: Row): readonly string[] {
  if (found.provision_state !== "enroll") return [];
  return FILLED.filter((field) => (planned[field] ?? null) !== (found[field] ?? null));
}

/** Nodes are created without traits. */
function requiresTraits(planned: Row, found: Row): boolean {
  return isLong(planned.traits) && !isLong(found.traits);
}

function isLong(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

export function isPassing(planned: Row, found: Row): boolean {
  return MOVING[String(found.provision_state)] === "passes" || isPassedThrough(planned, found);
}

export function isBeingUndone({ maintenance, maintenance_reason }: Row): boolean {
  return maintenance === true && maintenance_reason === UNDOING;
}

function markOf({ extra }: Row): unknown {
  return isObject(extra) && isObject(extra.nova_bm) ? extra.nova_bm.id : undefined;
}
