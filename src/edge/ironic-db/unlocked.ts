import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../model/change.ts";
import { MigrationError } from "../../model/error.ts";
import type { Removed } from "./remove.ts";

const LOOK_MS = 500;

/**
 * Milliseconds left to wait for conductors' locks, all in all: that of a dead conductor uses them up
 * once, not once a batch.
 */
interface Patience {
  ms: number;
}

/**
 * Tries what conductors' locks kept from being removed again, in transactions of its own: a lock
 * that is held over a transaction of ours could not be let go.
 *
 * @param again removes the steps that are locked
 * @returns with `broke` when it came to an end amid of it: what the first transaction did is kept
 */
export async function untilUnlocked(
  first: Removed,
  patience: Patience,
  again: (locked: ReadonlySet<string>) => Promise<Removed>,
): Promise<Outcome> {
  let { locked, ...all } = first;
  while (locked.size > 0 && patience.ms > 0) {
    await sleep(LOOK_MS);
    patience.ms -= LOOK_MS;
    const tried = locked;
    let retried: Removed;
    try {
      retried = await again(tried);
    } catch (cause) {
      if (!(cause instanceof MigrationError)) throw cause;
      return { ...all, broke: { cause, behind: 0 } };
    }
    const { locked: still, ...more } = retried;
    all = {
      done: [...all.done, ...more.done],
      found: [...all.found, ...more.found],
      left: [...all.left.filter(({ id }) => !tried.has(id)), ...more.left],
    };
    locked = still;
  }
  return all;
}
