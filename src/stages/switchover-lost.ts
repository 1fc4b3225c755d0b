import type { SwitchCalls } from "../edge/ironic-rest/switch-calls.ts";
import { begunIn } from "../engine/begun.ts";
import type { WindowSession } from "../engine/window.ts";
import type { Left } from "../model/change.ts";
import { MigrationError } from "../model/error.ts";
import { unmarkBack } from "../parts/switch-fields.ts";
import { busyWith, isBusy } from "../parts/switch-guard.ts";
import type { SwitchAt } from "../parts/switch-part.ts";
import { LOST, leftText, markedIn } from "./switchover-run.ts";

type Session = Pick<WindowSession, "journal" | "now" | "by">;

/** Writes down that somebody else has the spare, before anything is given back: whoever goes on then looks for another. */
export async function recordLost(
  { keptOf, plan }: Pick<SwitchAt, "keptOf" | "plan">,
  { journal, now, by }: Session,
): Promise<void> {
  const [observed] = keptOf("switchover-hold");
  if (observed === undefined) return;
  const about = { part: LOST, id: plan.destination, at: now() };
  await journal.append({ do: "start", ...about, by, observed });
}

/**
 * Takes our mark off each spare that was lost.
 *
 * @param isWaited for a lock of it
 * @returns those on which it is left, also as this login may not change them
 * @throws MigrationError N2I-E210
 */
export async function unmarkLost(
  calls: SwitchCalls,
  { journal, now }: Session,
  isWaited: boolean,
): Promise<readonly Left[]> {
  const left: Left[] = [];
  for (const plan of markedIn(journal.entries())) {
    const id = plan.destination;
    const why = await unmarked({ calls, plan }, isWaited).catch(orWhy);
    if (why === null) await journal.append({ do: "end", part: LOST, id, at: now() });
    else left.push({ id: `node:${id}`, why: leftText(plan, why) });
  }
  return left;
}

/** One spare that is not ours to change stands against no other. */
function orWhy(cause: unknown): string {
  if (cause instanceof MigrationError && cause.code !== "N2I-E210") return cause.message;
  throw cause;
}

/** @returns null, or why the mark is there still */
async function unmarked(
  at: Pick<SwitchAt, "calls" | "plan">,
  isWaited: boolean,
): Promise<string | null> {
  const { todo } = await unmarkBack(at, ["destination"]);
  const [write] = todo;
  if (write === undefined || "make" in write) return null;
  if (!isWaited) {
    const node = await at.calls.node(at.plan.destination);
    if (isBusy(node)) return busyWith(node);
  }
  return at.calls.make(write);
}

/** A run that is taken back has lost none: whatever comes then begins anew. */
export async function forgetLost({ journal, now, by }: Session): Promise<void> {
  for (const [id, { open }] of begunIn(journal.entries(), LOST)) {
    if (open) continue;
    await journal.append({ do: "return", part: LOST, id, at: now(), by });
    await journal.append({ do: "returned", part: LOST, id, at: now() });
  }
}
