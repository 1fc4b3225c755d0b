import {
  type Handover,
  isOwned,
  type Judged,
  type ObservedNode,
  type Trouble,
} from "../../../model/handover.ts";
import type { Row } from "../../../model/machine.ts";
import type { TargetDoc } from "../../../model/mapping.ts";
import { isOldPowerError } from "../../../model/power.ts";
import { reasonNoConductor } from "./successors.ts";

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
    return judged("done", `${has}, but an earlier takeover failed: ${last_error}`, HINT);
  }
  return isOldPowerError(last_error, power_state)
    ? judged("done", `old error, the power state is known again (${power_state}): ${last_error}`)
    : judged("done", `a conductor reports: ${last_error}`, HINT);
}

/** Why a machine lost its conductor. Null if the conductor still has it, or if there was none. */
function lost(taker: ObservedNode["taker"]): string | null {
  if (taker === null || taker.alive) return null;
  return taker.hostname === null
    ? "the conductor that took it over is no longer in Ironic"
    : `conductor ${taker.hostname}, which took it over, is not alive`;
}

const HINT =
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
  state: Judged["state"],
  reason: string | null = null,
  fix: string | null = null,
): Judged {
  return { state, reason, fix };
}

export interface PlannedNode {
  /** UUID. */
  readonly id: string;
  readonly bm_node_id: number;
  readonly row: Row;
  /** UUID of the root filesystem of its instance, if the plan knows it. */
  readonly root?: string;
}

/** `powerUnknown`: handed over, but no conductor has read their power since. */
export type HandoverTally = { [state in Judged["state"] | "powerUnknown"]: number };

/**
 * The current state of each machine's hand-over. A machine that was taken over but lacks fields for
 * the next takeover has failed.
 * @param all also return handed-over machines without a message, and those in planned maintenance
 * @param tally counts every machine
 * @param missingFields those that a takeover needs, by node UUID
 */
export async function* observe(
  plan: AsyncIterable<readonly PlannedNode[]>,
  handover: Pick<Handover, "observe" | "service">,
  tally: HandoverTally,
  all: boolean,
  missingFields: (batch: readonly PlannedNode[]) => Promise<ReadonlyMap<string, readonly string[]>>,
): AsyncGenerator<Trouble> {
  const service = await handover.service();
  for await (const batch of plan) {
    const nodes = await handover.observe(batch.map(({ id }) => id));
    const missing = await missingFields(batch);
    for (const { id: uuid, bm_node_id, row } of batch) {
      const observed = nodes.get(uuid);
      const initial = judge(row, observed, reasonNoConductor(service, row));
      const judged = judgeFields(initial, missing.get(uuid) ?? []);
      tally[judged.state] += 1;
      if (judged.state === "done" && observed?.power_state == null) tally.powerUnknown += 1;
      const isFine = judged.state === "done" || judged.state === "held";
      if (all || judged.reason !== null || !isFine) yield { ...judged, uuid, bm_node_id };
    }
  }
}

function judgeFields(judged: Judged, fields: readonly string[]): Judged {
  if (fields.length === 0 || judged.state === "missing" || judged.state === "held") return judged;
  const reason = `lacks ${fields.join(", ")}${judged.reason === null ? "" : `; ${judged.reason}`}`;
  return {
    state: judged.state === "done" ? "failed" : judged.state,
    reason,
    fix: "Provide the value (site document, extract --tftp-root), roll the machine back, then run plan and apply again.",
  };
}

export function noStates(): HandoverTally {
  return { staged: 0, waiting: 0, done: 0, held: 0, failed: 0, missing: 0, powerUnknown: 0 };
}

export function isHandedOver({ staged, waiting, failed, missing }: HandoverTally): boolean {
  return staged + waiting + failed + missing === 0;
}

/**
 * Missing fields that a takeover or its boot file needs. Without them, a conductor fails silently
 * or leaves the machine in deploy mode.
 * @param root the root filesystem in the plan, because Juno has no field for it
 * @param filled non-empty fields of the columns that a takeover reads: `instance_info.image_source`
 * @source facts/ironic.md 2.3, 2.5; facts/systems.md D4, D-11
 */
export function missingKeys(
  { takeover, boot, keys, release }: TargetDoc,
  planned: Row,
  root: string | null,
  filled: ReadonlySet<string>,
): readonly string[] {
  if (planned.provision_state !== "active" || planned.maintenance === true) return [];
  const image = takeover === "none" ? [] : ["instance_info.image_source"];
  const deploys = (["deploy_kernel", "deploy_ramdisk"] as const).map(
    (key) => `driver_info.${keys[key] ?? key}`,
  );
  const images = takeover === "deploy-images" ? ["instance_info.root_gb", ...deploys] : [];
  const isLocal = filled.has("capabilities.boot_option=local");
  const boots =
    (boot === "edit" || boot === "netboot") && !isLocal
      ? ["driver_internal_info.root_uuid_or_disk_id"]
      : [];
  const ramdisk =
    boot === "local" && planned.deploy_interface === "ramdisk"
      ? ["instance_info.kernel", "instance_info.ramdisk", "instance_info.kernel_append_params"]
      : [];
  const needed = [...image, ...images, ...boots, ...ramdisk];
  const unknown = boot === "deploy" && root === null ? [`root_uuid (${release} keeps none)`] : [];
  return [...needed.filter((field) => !filled.has(field)), ...unknown];
}
