import { causeWith } from "../lib/error.ts";
import type { JsonObject } from "../lib/json.ts";
import { sparePatience, unmarked } from "./steps/switch-guard.ts";
import { type SwitchAt, type SwitchPosition, type SwitchStep, stays } from "./steps/switch-part.ts";
import { named } from "./switchover-run.ts";

/**
 * The same step, which looks at the spare before it begins, as long as the source is on: one that somebody else has by
 * then would be refused only once the source is off.
 */
export function withSpare(at: SwitchAt, step: SwitchStep): SwitchStep {
  const { calls, plan } = at;
  const isLooked = step.name === "switchover-destination" || step.name === "switchover-power";
  // Later the source is off already, and each step looks at the spare itself.
  if (!isLooked || at.keptOf("switchover-power").length > 0) return step;
  const patience = sparePatience(at);
  return {
    ...step,
    async look(image, kept) {
      if (image !== null) return step.look(image, kept);
      const spare = await calls.node(plan.destination);
      const why = unmarked(at, spare) ?? othersNow(spare);
      if (why !== null) return taken(why);
      const busy = patience(spare);
      if (busy !== null) return busy;
      const { provision_state } = spare;
      // Before that it may be in enroll, and is brought there.
      if (step.name === "switchover-power" && provision_state !== "manageable")
        return taken(`node ${plan.destination} is ${String(provision_state)}, expected manageable`);
      return step.look(image, kept);
    },
  };
}

/** What a step came to, also where it broke because somebody deleted the spare, or the login may not do it. */
export async function unlessBroken(
  { calls, plan: { destination, destination_name } }: SwitchAt,
  work: () => Promise<SwitchPosition | null>,
): Promise<SwitchPosition | null> {
  try {
    return await work();
  } catch (cause) {
    const denied = causeWith(cause, "N2I-E211");
    if (denied !== null) return { ...stays(denied.message), code: denied.code };
    if (causeWith(cause, "N2I-E306") === null || !(await calls.isGone(destination))) throw cause;
    const why = `node ${named(destination, destination_name)} is gone: somebody deleted it`;
    return { ...taken(why), code: "N2I-E384" };
  }
}

function taken(why: string): SwitchPosition {
  return { ...stays(why), taken: "destination" };
}

function othersNow({ uuid, instance_uuid }: JsonObject): string | null {
  return typeof instance_uuid === "string"
    ? `node ${String(uuid)} has instance ${instance_uuid}`
    : null;
}
