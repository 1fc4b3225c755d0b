import type { Json } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import { isBeingUndone, isPassedThrough, isStill, wantsTraits } from "./standing.ts";

/** What to do next with a node that is there. */
export type Move =
  | { readonly do: "provision"; readonly target: "manage" | "adopt" | "provide" }
  | { readonly do: "hold"; readonly reason: string | null }
  /** Out of the maintenance that a rollback of ours began and did not live to end. */
  | { readonly do: "release" }
  | { readonly do: "traits"; readonly traits: Json }
  | { readonly do: "protect"; readonly patch: readonly Json[] }
  /** The conductor works on it. */
  | { readonly do: "wait" }
  | { readonly do: "done" }
  | { readonly do: "stop"; readonly why: string };

/** What this run did with the node before. */
export interface History {
  /** It was told to become manageable. */
  managed: boolean;
  /** Why adoption failed the first time. */
  failed: string | null;
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
  if (planned.maintenance === true && !isHeld(planned, found))
    return { do: "hold", reason: reasonOf(planned) };
  if (planned.maintenance !== true && isBeingUndone(found)) return { do: "release" };
  if (isStill(state) && wantsTraits(planned, found))
    return { do: "traits", traits: planned.traits ?? [] };
  switch (state) {
    case "enroll":
      return history.managed
        ? stop(`manage failed: ${errorOf(found)}`)
        : { do: "provision", target: "manage" };
    case "verifying":
    case "adopting":
      return { do: "wait" };
    case "cleaning":
      // Cleaning that is switched off passes through this state, and touches nothing.
      return isPassedThrough(planned, found)
        ? { do: "wait" }
        : stop("it is being cleaned, which this tool never asks for");
    case "adopt failed":
      if (history.failed !== null)
        return stop(`adoption failed twice: first ${history.failed}; then ${errorOf(found)}`);
      return { do: "provision", target: "manage" };
    case "manageable":
      if (goal === "active") return { do: "provision", target: "adopt" };
      if (goal !== "available") return finish(planned, found);
      return found.automated_clean === false
        ? { do: "provision", target: "provide" }
        : stop("automated_clean is not false: to provide it would wipe its disks");
    default:
      return state === goal ? finish(planned, found) : stop(`it is ${String(state)}`);
  }
}

function stop(why: string): Move {
  return { do: "stop", why };
}

export function errorOf({ last_error }: Row): string {
  return typeof last_error === "string" && last_error !== "" ? last_error : "no reason is given";
}

function isHeld(planned: Row, found: Row): boolean {
  return found.maintenance === true && reasonOf(found) === reasonOf(planned);
}

/** Some releases keep an empty reason where none is given. */
function reasonOf({ maintenance_reason: reason }: Row): string | null {
  return typeof reason === "string" && reason !== "" ? reason : null;
}

function finish(planned: Row, found: Row): Move {
  const patch = ["protected", "protected_reason"].flatMap((field) => {
    const want = planned[field];
    return want === undefined || want === null || want === false || want === found[field]
      ? []
      : [{ op: "add", path: `/${field}`, value: want }];
  });
  return patch.length === 0 ? { do: "done" } : { do: "protect", patch };
}
