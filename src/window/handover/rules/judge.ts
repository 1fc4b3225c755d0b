import {
  type HandoverState,
  isOwned,
  type Judged,
  type ObservedNode,
  type Taker,
} from "../../../model/handover.ts";
import type { Row } from "../../../model/machine.ts";
import { isOldPowerError } from "../../../model/power.ts";

const CONDUCTOR_DOWN =
  "Start or fix the conductor, then run the same command again to resume. Alternatively, run handover --undo --node.";

/**
 * Compares a machine's planned row with Ironic. A machine in use must be taken over by a live
 * conductor. If that conductor is down, another one will take it over. For any other machine, a
 * suitable live conductor is sufficient. Errors of a conductor after the takeover are reported,
 * but are not failures.
 * @param noConductor the reason why no live conductor is suitable, or null
 * @source facts/ironic.md 0.9, 2.2: a takeover that fails leaves last_error alone and is tried
 * again
 */
export function judge(
  planned: Row,
  observed: ObservedNode | undefined,
  noConductor: string | null = null,
): Judged {
  if (observed === undefined)
    return judged("missing", "no such node in Ironic", "Run verify, then apply again.");
  if (planned.maintenance === true) return judged("held");
  const { maintenance, maintenance_reason, last_error, taker } = observed;
  if (isOwned(maintenance, maintenance_reason)) return judged("staged");
  const error = last_error === null ? "" : ` (${last_error})`;
  if (maintenance)
    return judged(
      "failed",
      `in maintenance: ${maintenance_reason ?? "without a reason"}${error}`,
      "A conductor sets maintenance if it cannot read the power state. To check this, run power --node. Otherwise, another user has set it.",
    );
  const used = planned.provision_state === "active";
  const fault = used ? lost(taker) : noConductor;
  const taken = fault === null && (!used || taker !== null);
  // Reservations after a takeover are normal for a conductor.
  if (taken) return settled(planned, observed);
  const news = last_error !== null && last_error !== planned.last_error;
  if (observed.reservation !== null || !news || !used) return judged("waiting", fault);
  const reason = `${fault === null ? "" : `${fault}; `}takeover failed: ${last_error}`;
  return judged("failed", reason, RETRIES);
}

/**
 * A machine with a conductor. An error is only reported: Ironic sets conductor_affinity after a
 * successful takeover, and does not clear last_error.
 * @source facts/ironic.md 2.2, manager.py _do_takeover
 */
function settled(planned: Row, { last_error, power_state, taker }: ObservedNode): Judged {
  if (last_error === null || last_error === planned.last_error) return judged("done");
  if (/_do_takeover/.test(last_error)) {
    const has = taker?.hostname == null ? "a conductor has it" : `${taker.hostname} has it`;
    return judged("done", `${has}, but an earlier takeover failed: ${last_error}`, READ);
  }
  return isOldPowerError(last_error, power_state)
    ? judged("done", `old error, the power state is known again (${power_state}): ${last_error}`)
    : judged("done", `a conductor reports: ${last_error}`, READ);
}

/** Why a machine lost its conductor. Null if the conductor still has it, or if there was none. */
function lost(taker: Taker | null): string | null {
  if (taker === null || taker.alive) return null;
  return taker.hostname === null
    ? "the conductor that took it over is no longer in Ironic"
    : `conductor ${taker.hostname}, which took it over, is not alive`;
}

const READ =
  "The machine is handed over. Check the conductor's error, which Ironic keeps until its next action on the machine.";

const RETRIES = "Fix the cause, and the conductor retries. To undo, run handover --undo --node.";

/**
 * A machine that was not taken over in time. If its interface is not enabled, the periodic task
 * fails for all machines, with a trace only in the log (observed on 2023.1).
 * @param reason facts about its conductor
 */
export function overdue(
  { driver, conductor_group }: Row,
  seconds: number,
  reason: string | null = null,
): Judged {
  const group = typeof conductor_group === "string" ? conductor_group : "";
  return judged(
    "failed",
    `no conductor took it over in ${seconds} s${reason === null ? "" : `: ${reason}`}`,
    `Check that a conductor${group === "" ? "" : ` in group ${group}`} with driver ${String(driver)} is alive and has the node's ` +
      "interfaces enabled. A disabled interface prevents the takeover of all machines, and is in the conductor's log " +
      "(--conductor-log). " +
      "To undo, run handover --undo --node.",
  );
}

export function isTakenOver({ row }: PlannedNode): boolean {
  return row.provision_state === "active" && row.maintenance !== true;
}

/** A machine without a suitable conductor stays staged, or the wait for it ends. */
export function without(reason: string, state: "staged" | "failed"): Judged {
  return judged(state, reason, CONDUCTOR_DOWN);
}

/** A machine that is retried after all others. */
export function lockedBy(holder: string): Judged {
  return judged("waiting", `${holder} is working on it`, AGAIN);
}

export const AGAIN = "Run the same command again.";

function judged(
  state: HandoverState,
  reason: string | null = null,
  fix: string | null = null,
): Judged {
  return { state, reason, fix };
}

export interface PlannedNode {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly row: Row;
  /** UUID of the root filesystem of its instance, if the plan knows it. */
  readonly root?: string;
}
