import { cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** What a condition says: null when it holds, else how things are. */
type Condition = () => Promise<string | null>;

/**
 * Waits for a condition, and says in the error how things were at the end.
 *
 * @param seconds on a quiet machine; a busy one gets more, by its load
 */
export async function until(what: string, seconds: number, holds: Condition): Promise<number> {
  const began = Date.now();
  for (;;) {
    const asked = Date.now();
    const why = await holds();
    const took = (Date.now() - began) / 1000;
    if (why === null) return took;
    if (took > seconds * slowness())
      throw new Error(`${what}: not within ${Math.round(took)} s. ${why}`);
    // What costs a service its time is not asked for again at once: others work on what is waited for.
    await sleep(Math.min(2000, Math.max(200, 4 * (Date.now() - asked))));
  }
}

/** How much longer things take than on a quiet machine. */
function slowness(): number {
  const [load = 0] = loadavg();
  return Math.min(5, Math.max(2, load / cpus().length));
}
