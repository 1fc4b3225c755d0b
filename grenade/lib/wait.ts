import { setTimeout as sleep } from "node:timers/promises";

/** What a condition says: null when it holds, else how things are. */
type Condition = () => Promise<string | null>;

/** Seconds in which nothing changes before a wait ends: more than any step takes on a slow host. */
const STUCK_SECONDS = 300;
/** Seconds before a wait ends although things change, as they do if they alternate for ever. */
const LONGEST_SECONDS = 1800;

/**
 * Waits for a condition. It fails if the reason stays the same for too long, and then shows that reason.
 *
 * @returns seconds
 */
export async function until(what: string, holds: Condition): Promise<number> {
  const began = performance.now();
  let changed = began;
  let reason = "";
  for (;;) {
    const asked = performance.now();
    const why = await holds();
    const now = performance.now();
    const took = (now - began) / 1000;
    if (why === null) return took;
    if (why !== reason) [reason, changed] = [why, now];
    if (now - changed > STUCK_SECONDS * 1000 || took > LONGEST_SECONDS)
      throw new Error(`${what}: not within ${Math.round(took)} s. ${why}`);
    // A question that is expensive for a service is not repeated at once: it slows the work down.
    await sleep(Math.min(2000, Math.max(100, 4 * (now - asked))));
  }
}
