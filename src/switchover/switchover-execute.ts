import { runWindow, type WindowSession } from "../engine/window.ts";
import { ONE_BY_ONE } from "../engine/window-part.ts";
import { causeWith, orNull } from "../lib/error.ts";
import type { JsonObject } from "../lib/json.ts";
import { once } from "../lib/streams.ts";
import type { SkippedRow } from "../model/change.ts";
import type { Entries } from "../model/journal.ts";
import { failpoint } from "../run/failpoint.ts";
import { switchCalls } from "../systems/ironic-api/node.ts";
import type { RestService } from "../systems/ironic-api/service.ts";
import {
  type Fenced,
  SWITCH_STATES,
  type Switchover,
  type SwitchTimes,
} from "./rules/switching.ts";
import { remainingMarks, spareTimeout, unmarked } from "./steps/switch-guard.ts";
import {
  blocked,
  type JournalStep,
  type SwitchAt,
  type SwitchPosition,
  switchPart,
  taken,
} from "./steps/switch-part.ts";
import { switchSteps } from "./steps/switch-steps.ts";
import { labelOf, recordsIn, switchedIn } from "./switchover-run.ts";

/** Maximum milliseconds for a step, excluding the shutdown. */
const LONGEST = 3_600_000;

/** Short pauses, because a conductor usually needs less than a second. */
const PACE = { ...ONE_BY_ONE, pauses: [50, 100, 200, 250] as const };

/** @param entries reads the current journal */
export function switchAt(
  service: RestService,
  plan: Switchover,
  entries: () => Entries,
  more: Partial<Pick<SwitchAt, "times" | "now" | "nova">> = {},
): SwitchAt {
  return {
    ...{ calls: switchCalls(service, failpoint), plan, now: Date.now, times: timesOf({}) },
    ...{ fence: { source: null, counts: false, spare: null }, nova: null, ...more },
    recordsOf: (step) => recordsIn(entries(), step, plan),
  };
}

/** Options in seconds. */
export function timesOf({
  softTimeout = 600,
  proofInterval = 65,
  proofTimeout = 300,
}: {
  readonly softTimeout?: number;
  readonly proofInterval?: number;
  readonly proofTimeout?: number;
}): SwitchTimes {
  return { soft: softTimeout * 1000, interval: proofInterval * 1000, proof: proofTimeout * 1000 };
}

/** The step that stopped; null if the last step ended. */
type Halted = {
  readonly step: JournalStep;
  /** Null after a signal. */
  readonly position: SwitchPosition | null;
} | null;

/**
 * Skips ended steps, except that the source must be proved off again until the spare runs.
 *
 * @param prove gives other proof that the source is off if its BMC does not, or null
 * @throws MigrationError N2I-E301 after an error
 */
export async function runForward(
  at: SwitchAt,
  session: WindowSession,
  reached: (state: string) => void,
  prove: () => Promise<Fenced | null>,
): Promise<Halted> {
  for (const step of switchSteps(at)) {
    if (isProcessed(step, session)) continue;
    const position = await unlessBroken(at, async () => {
      const ended = await legOf(at, withSpare(at, step), session);
      if (ended?.unproven !== true || step.name !== PROOF) return ended;
      at.fence.source = await prove();
      return at.fence.source === null ? ended : legOf(at, again(at, step), session);
    });
    if (position?.is !== "after") return { step, position };
    if (at.recordsOf(step.name).length > 0) reached(SWITCH_STATES[step.name]);
  }
  return null;
}

const PROOF = "switchover-power";

function isProcessed({ name, inspectBack }: JournalStep, { journal }: WindowSession): boolean {
  const startedSteps = switchedIn(journal.entries())?.started;
  const deploy = startedSteps?.get("switchover-deploy");
  if (name === PROOF && deploy?.open !== false) return false;
  const started = startedSteps?.get(name);
  if (started !== undefined) return !started.open;
  // A step without changes is not in the journal, and the deployment changes its `inspect`.
  return deploy !== undefined && inspectBack !== undefined;
}

/** The step with a new BMC request, because the fence may have made the BMC reachable. */
function again(at: SwitchAt, step: JournalStep): JournalStep {
  return switchSteps(at).find(({ name }) => name === step.name) ?? step;
}

/**
 * @param image the saved state for a rollback; null: forward
 * @returns null after a signal
 */
async function legOf(
  at: SwitchAt,
  step: JournalStep,
  session: WindowSession,
  image: JsonObject | null = null,
): Promise<SwitchPosition | null> {
  if (session.stopping()) return null;
  let last: SwitchPosition | null = null;
  const pace = { ...PACE, deadline: LONGEST + at.times.soft + at.times.proof };
  const part = switchPart(at, step, image);
  const [direction, command] =
    image === null ? (["forward", "node switchover"] as const) : (["back", "rollback"] as const);
  const leg = { part, command, pace, changes: () => once([{ id: at.plan.source }]) };
  const { broke, stopped } = await runWindow(direction, leg, session, ({ position }) => {
    last = position;
  });
  if (broke !== null) throw broke;
  return image !== null && stopped ? null : last;
}

/**
 * After a conflict, the other steps are still rolled back and the nodes stay marked. If only a node
 * of another switchover is in conflict, the run stays open.
 *
 * @param prove gives other proof that the spare is off if its BMC does not, or null
 * @returns the skipped nodes; `isEnded`: false after a signal
 */
export async function runBack(
  at: SwitchAt,
  session: WindowSession,
  prove: () => Promise<Fenced | null>,
): Promise<{ readonly skipped: readonly SkippedRow[]; readonly isEnded: boolean }> {
  const reasons = new Set<string>();
  const result = (isEnded: boolean) => ({
    skipped: [...reasons].map((reason) => ({ id: `node:${at.plan.source}`, reason })),
    isEnded,
  });
  let [isComplete, areTheirs] = [true, false];
  for (const step of switchSteps(at).toReversed()) {
    const started = switchedIn(session.journal.entries())?.started.get(step.name);
    const [image] = started?.observed ?? [];
    if (image === undefined || step.inspectBack === undefined) continue;
    if (step.name === "switchover-hold" && !isComplete) continue;
    const isMarkStep = step.name === "switchover-hold" && areTheirs;
    let ended = await legOf(at, isMarkStep ? withoutEnd(step) : step, session, image);
    if (ended?.unproven === true) {
      at.fence.spare = await prove();
      if (at.fence.spare !== null) ended = await legOf(at, again(at, step), session, image);
    }
    if (ended === null) return result(false);
    for (const reason of ended.reasons) reasons.add(reason);
    if (ended.isTheirs === true) areTheirs = true;
    else if (ended.is !== "after" && (!isMarkStep || ended.reasons.length > 0)) isComplete = false;
  }
  if (!isComplete)
    for (const reason of (await orNull(remainingMarks(at))) ?? []) reasons.add(reason);
  return result(true);
}

/** Removes this run's marks without ending the step in the journal. */
function withoutEnd({ inspectBack, ...step }: JournalStep): JournalStep {
  if (inspectBack === undefined) return step;
  return {
    ...step,
    async inspectBack(image) {
      const position = await inspectBack(image);
      return position.todo.length === 0 ? blocked() : position;
    },
  };
}

/** Also checks the spare, which would otherwise be found in use only after the source is off. */
function withSpare(at: SwitchAt, step: JournalStep): JournalStep {
  const { calls, plan } = at;
  const isInspected = step.name === "switchover-destination" || step.name === "switchover-power";
  // Later the source is off, and each step checks the spare.
  if (!isInspected || at.recordsOf("switchover-power").length > 0) return step;
  const checkBusy = spareTimeout(at);
  return {
    ...step,
    async inspect(image) {
      if (image !== null) return step.inspect(image);
      const spare = await calls.read(plan.destination);
      const { uuid, instance_uuid, provision_state } = spare;
      const reason = unmarked(at, spare);
      if (reason !== null) return taken(reason);
      if (typeof instance_uuid === "string")
        return taken(`node ${String(uuid)} has instance ${instance_uuid}`);
      const busy = checkBusy(spare);
      if (busy !== null) return busy;
      // In earlier steps, the spare may be in enroll.
      if (step.name === "switchover-power" && provision_state !== "manageable")
        return taken(`node ${plan.destination} is ${String(provision_state)}, expected manageable`);
      return step.inspect(image);
    },
  };
}

/** The result of a step, also if the spare was deleted or the login lacks a permission. */
async function unlessBroken(
  { calls, plan: { destination, destination_name } }: SwitchAt,
  work: () => Promise<SwitchPosition | null>,
): Promise<SwitchPosition | null> {
  try {
    return await work();
  } catch (cause) {
    const denied = causeWith(cause, "N2I-E211");
    if (denied !== null) return { ...blocked(denied.message), code: denied.code };
    if (causeWith(cause, "N2I-E306") === null || !(await calls.isNodeAbsent(destination)))
      throw cause;
    const reason = `node ${labelOf(destination, destination_name)} was deleted`;
    return { ...taken(reason), code: "N2I-E384" };
  }
}
