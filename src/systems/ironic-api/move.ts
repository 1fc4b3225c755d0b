import type { NodeChange } from "../../model/ironic/rest.ts";
import type { Row } from "../../model/machine.ts";
import {
  isBeingUndone,
  isPassedThrough,
  isUntouched,
  takesTraits,
  unplanned,
} from "./found-state.ts";
import { wordOf } from "./look.ts";
import { type NodeCall, nodeCalls } from "./node.ts";

/** A call that brings a node a step on. */
export interface Call extends NodeCall {
  readonly do: "call";
  readonly name: string;
  /** Where its effect is seen once it is accepted: in these fields, in the answer's body, or later. */
  readonly shows: Row | "answer" | "later";
}

/** What to do next with a node that is there. */
type Move =
  | Call
  /** The conductor works on it. */
  | { readonly do: "wait" }
  | { readonly do: "done" }
  | { readonly do: "stop"; readonly why: string };

function call(name: string, write: NodeCall, shows: Call["shows"]): Call {
  return { do: "call", name, ...write, shows };
}

interface History {
  /** It was asked to become manageable. */
  managed: boolean;
  /** Why adoption failed the first time. */
  failed: string | null;
  /** It was asked to adopt after that. */
  retried: boolean;
}

export function noHistory(): History {
  return { managed: false, failed: null, retried: false };
}

/** Notes a call that the service accepted of a node as it was found before. */
export function note(history: History, call: Call["name"], found: Row): void {
  if (call === "adopt") history.retried = history.failed !== null;
  if (call !== "manage") return;
  if (found.provision_state === "adopt failed") history.failed ??= errorOf(found);
  else history.managed = true;
}

/**
 * The next step of a node towards its planned state, from what the service says of it now. Pure, so
 * that it does not matter who did the steps before, or whether anybody knows that they were done.
 *
 * @source facts/ironic.md 4.2
 */
export function nextMove(planned: Row, found: Row, history: History): Move {
  const { provision_state: state } = found;
  const goal = planned.provision_state;
  const uuid = String(planned.uuid);
  const provision = (target: "manage" | "adopt" | "provide"): Call =>
    call(target, nodeCalls.provision(uuid, target), "later");
  if (planned.maintenance === true && !isHeld(planned, found)) {
    const maintenance_reason = wordOf(planned.maintenance_reason);
    const shows = { maintenance: true, maintenance_reason };
    return call("hold", nodeCalls.maintenance(uuid, maintenance_reason), shows);
  }
  // Out of the maintenance that a rollback of ours began and did not live to end.
  if (planned.maintenance !== true && isBeingUndone(found)) {
    const shows = { maintenance: false, maintenance_reason: null };
    return call("release", nodeCalls.endMaintenance(uuid), shows);
  }
  // What the service filled in by itself when the node was made.
  const other = unplanned(planned, found);
  if (other.length > 0) return change("fill", planned, other);
  if (takesTraits(planned, found)) {
    const { traits = [] } = planned;
    return call("traits", nodeCalls.traits(uuid, traits), { traits });
  }
  switch (state) {
    case "enroll":
      // Ironic tells why a change of state failed, always: without a word the state never changed.
      return history.managed && wordOf(found.last_error) !== null
        ? stop(`manage failed: ${errorOf(found)}`)
        : provision("manage");
    case "verifying":
    case "adopting":
      return { do: "wait" };
    case "cleaning":
      // Cleaning that is switched off passes through this state, and touches nothing.
      return isPassedThrough(planned, found)
        ? { do: "wait" }
        : stop("it is being cleaned, which this tool never asks for");
    case "adopt failed":
      if (history.retried)
        return stop(`adoption failed twice: first ${history.failed}; then ${errorOf(found)}`);
      return provision("manage");
    case "manageable":
      if (goal === "active") return provision("adopt");
      if (goal !== "available") return finish(planned, found);
      return found.automated_clean === false
        ? provision("provide")
        : stop("automated_clean is not false: to provide it would wipe its disks");
    default:
      return state === goal ? finish(planned, found) : stop(`it is ${String(state)}`);
  }
}

/** Makes fields as planned, whatever they are now. */
function change(name: string, planned: Row, fields: readonly string[]): Call {
  const changes = fields.map(
    (field): NodeChange => ({ path: [field], after: planned[field] ?? undefined }),
  );
  return call(name, nodeCalls.patch(String(planned.uuid), changes), "answer");
}

function stop(why: string): Move {
  return { do: "stop", why };
}

function errorOf(found: Row): string {
  return wordOf(found.last_error) ?? "no reason is given";
}

function isHeld(planned: Row, found: Row): boolean {
  // Some releases keep an empty reason where none is given.
  const [is, wanted] = [wordOf(found.maintenance_reason), wordOf(planned.maintenance_reason)];
  return found.maintenance === true && is === wanted;
}

function finish(planned: Row, found: Row): Move {
  // Cleaning, which a free machine refused until it was available, is as planned from now on.
  if (isUntouched(planned, found)) return change("settle", planned, ["automated_clean"]);
  const guards = ["protected", "protected_reason"].filter((field) => {
    const want = planned[field] ?? false;
    return want !== false && want !== found[field];
  });
  return guards.length === 0 ? { do: "done" } : change("protect", planned, guards);
}
