import {
  type HandoverState,
  isOurs,
  type Judged,
  type ObservedNode,
  type Taker,
} from "../../../model/handover.ts";
import type { Row } from "../../../model/machine.ts";
import { isOldPowerError } from "../../../model/power.ts";
import { BRING } from "./successors.ts";

/**
 * Judges a machine by its planned row and what Ironic says now. Only a machine in use is taken
 * over, and only a conductor that is alive has it: of another one it is waited for until the next
 * takes it. Any other machine is nobody's by name: it is enough that a living conductor would work
 * with it. What a conductor says of a machine it has is reported, and is no failure of the hand-over.
 *
 * @param nobody why no living conductor would have it; null: one would
 * @source facts/ironic.md 0.9, 2.2: a take-over that fails leaves last_error alone and is tried again
 */
export function judge(
  planned: Row,
  observed: ObservedNode | undefined,
  nobody: string | null = null,
): Judged {
  if (observed === undefined)
    return judged("missing", "no such node in Ironic", "Run verify, then apply again.");
  if (planned.maintenance === true) return judged("held");
  const { maintenance, maintenance_reason, last_error, taker } = observed;
  if (isOurs(maintenance, maintenance_reason)) return judged("staged");
  if (maintenance)
    return judged(
      "failed",
      `in maintenance: ${maintenance_reason ?? "without a reason"}${quoted(last_error)}`,
      "A conductor that cannot read the power does this: ask with power --node; else ask who did.",
    );
  const used = planned.provision_state === "active";
  const gone = used ? lost(taker) : nobody;
  const taken = gone === null && (!used || taker !== null);
  // The lock of a machine that is taken over is of a conductor's daily work: it comes and goes.
  if (taken) return settled(planned, observed);
  const news = last_error !== null && last_error !== planned.last_error;
  if (observed.reservation !== null || !news || !used) return judged("waiting", gone);
  const why = `${gone === null ? "" : `${gone}; `}take-over failed: ${last_error}`;
  return judged("failed", why, RETRIES);
}

/**
 * A machine that a conductor has; an error does not take it away, and is worth a word. Ironic sets conductor_affinity
 * when a take-over has succeeded, and never clears last_error then.
 *
 * @source facts/ironic.md 2.2, manager.py _do_takeover
 */
function settled(planned: Row, { last_error, power_state, taker }: ObservedNode): Judged {
  if (last_error === null || last_error === planned.last_error) return judged("done");
  if (/_do_takeover/.test(last_error)) {
    const has = taker?.hostname == null ? "a conductor has it" : `${taker.hostname} has it`;
    return judged("done", `${has}; a take-over failed before: ${last_error}`, LOOK);
  }
  return isOldPowerError(last_error, power_state)
    ? judged("done", `old, the power is known again (${power_state}): ${last_error}`)
    : judged("done", `a conductor says: ${last_error}`, LOOK);
}

/** Why a conductor that took a machine over has it no more; null when it has, or none did. */
function lost(taker: Taker | null): string | null {
  if (taker === null || taker.alive) return null;
  return taker.hostname === null
    ? "the conductor that took it over is no longer in Ironic"
    : `conductor ${taker.hostname}, which took it over, is not alive`;
}

const LOOK =
  "It is handed over. Read the error of the conductor. Ironic keeps it until its next action on the machine.";

const RETRIES =
  "Fix the cause, and the conductor tries again. Or take it back with handover --undo --node.";

/**
 * A machine nobody took over in time. An interface no conductor enables leaves nothing in the row:
 * its name ends the whole periodic task, each time, with a trace in the log alone (seen on 2023.1).
 *
 * @param why what is known of the conductor that had it
 */
export function overdue(
  { driver, conductor_group }: Row,
  seconds: number,
  why: string | null = null,
): Judged {
  const group = typeof conductor_group === "string" ? conductor_group : "";
  return judged(
    "failed",
    `no conductor took it over in ${seconds} s${why === null ? "" : `: ${why}`}`,
    `Is a conductor alive with driver ${String(driver)}${group === "" ? "" : ` in group ${group}`} and the node's ` +
      "interfaces enabled? One that is not prevents the take-over of all others: see its log " +
      "(--conductor-log). " +
      "Take the machine back with handover --undo --node.",
  );
}

/** A machine no living conductor would take: it stays staged, or is waited for no longer. */
export function without(why: string, state: "staged" | "failed"): Judged {
  return judged(state, why, BRING);
}

function judged(
  state: HandoverState,
  why: string | null = null,
  fix: string | null = null,
): Judged {
  return { state, why, fix };
}

function quoted(last_error: string | null): string {
  return last_error === null ? "" : ` (${last_error})`;
}

export interface PlannedNode {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly row: Row;
  /** Uuid of its tenant's root filesystem; absent where the plan knows none. */
  readonly root?: string;
}
