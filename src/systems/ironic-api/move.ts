import type { Json } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import {
  isBeingUndone,
  isPassedThrough,
  isStill,
  isUntouched,
  unplanned,
  wantsTraits,
} from "./found-state.ts";

/** A call that brings a node a step on. */
export interface Call {
  readonly do: "call";
  readonly name: string;
  readonly method: "PUT" | "PATCH" | "DELETE";
  /** Below the node's own. */
  readonly path: string;
  readonly body?: Json;
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

function provision(name: "manage" | "adopt" | "provide"): Call {
  const body = { target: name };
  return { do: "call", name, method: "PUT", path: "/states/provision", body, shows: "later" };
}

function hold(maintenance_reason: string | null): Call {
  return {
    ...{ do: "call", name: "hold", method: "PUT", path: "/maintenance" },
    body: maintenance_reason === null ? {} : { reason: maintenance_reason },
    shows: { maintenance: true, maintenance_reason },
  };
}

/** Out of the maintenance that a rollback of ours began and did not live to end. */
const RELEASE: Call = {
  ...{ do: "call", name: "release", method: "DELETE", path: "/maintenance" },
  shows: { maintenance: false, maintenance_reason: null },
};

function write(traits: Json): Call {
  const body = { traits };
  return { do: "call", name: "traits", method: "PUT", path: "/traits", body, shows: body };
}

/**
 * `fill`: what the service filled in by itself when the node was made; `settle`: cleaning, which a
 * free machine refused until it was available, is as planned from now on.
 */
function change(name: "fill" | "protect" | "settle", body: readonly Json[]): Call {
  return { do: "call", name, method: "PATCH", path: "", body, shows: "answer" };
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
  if (planned.maintenance === true && !isHeld(planned, found)) return hold(reasonOf(planned));
  if (planned.maintenance !== true && isBeingUndone(found)) return RELEASE;
  const other = unplanned(planned, found);
  if (other.length > 0)
    return change(
      "fill",
      other.map((field) => put(field, planned)),
    );
  if (isStill(state) && wantsTraits(planned, found)) return write(planned.traits ?? []);
  switch (state) {
    case "enroll":
      return history.managed && givesReason(found)
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

/** What makes a field as planned, whatever it is now. */
function put(field: string, planned: Row): Json {
  const value = planned[field] ?? null;
  const path = `/${field}`;
  return value === null ? { op: "remove", path } : { op: "add", path, value };
}

/**
 * Makes cleaning as planned; NULL leaves it to the conductor.
 *
 * @source Ironic 21.4 answers 500 to a `remove` of it, which has no value to look at
 */
export function cleaned({ automated_clean: value = null }: Row): Json {
  return { op: "add", path: "/automated_clean", value };
}

function stop(why: string): Move {
  return { do: "stop", why };
}

function errorOf(found: Row): string {
  return givesReason(found) ? String(found.last_error) : "no reason is given";
}

/** Ironic tells why a change of state failed, always: without a word the state never changed. */
function givesReason({ last_error }: Row): boolean {
  return typeof last_error === "string" && last_error !== "";
}

function isHeld(planned: Row, found: Row): boolean {
  return found.maintenance === true && reasonOf(found) === reasonOf(planned);
}

/** Some releases keep an empty reason where none is given. */
function reasonOf({ maintenance_reason: reason }: Row): string | null {
  return typeof reason === "string" && reason !== "" ? reason : null;
}

function finish(planned: Row, found: Row): Move {
  if (isUntouched(planned, found)) return change("settle", [cleaned(planned)]);
  const patch = ["protected", "protected_reason"].flatMap((field) => {
    const want = planned[field];
    return want === undefined || want === null || want === false || want === found[field]
      ? []
      : [{ op: "add", path: `/${field}`, value: want }];
  });
  return patch.length === 0 ? { do: "done" } : change("protect", patch);
}
