import type { NodeChange } from "../../model/ironic/rest.ts";
import type { Row } from "../../model/machine.ts";
import {
  isBeingUndone,
  isPassedThrough,
  isUntouched,
  takesTraits,
  unplanned,
} from "./found-state.ts";
import { lowerCaseText } from "./look.ts";
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

interface History {
  /** `manage` was accepted. */
  managed: boolean;
  /** The error of the first adoption. */
  failed: string | null;
  /** `adopt` was accepted after that error. */
  retried: boolean;
}

export function noHistory(): History {
  return { managed: false, failed: null, retried: false };
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
  if (takesTraits(planned, found)) {
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
    const want = planned[field] ?? false;
    return want !== false && want !== found[field];
  });
  return guards.length === 0 ? { do: "done" } : change("protect", planned, guards);
}
