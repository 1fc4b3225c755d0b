import { setTimeout as sleep } from "node:timers/promises";

/** Runs work. The first gets a function that lets the others begin before it ends; the others get null. */
export type Alone = <T>(work: (passed: (() => void) | null) => Promise<T>) => Promise<T>;

/**
 * Runs the first work alone. The others begin when it calls `passed`, when it has ended or failed, or after `most`.
 *
 * @param most milliseconds that the others wait
 */
export function firstAlone(most: number): Alone {
  let first: Promise<unknown> | null = null;
  return async (work) => {
    if (first !== null) {
      await first;
      return work(null);
    }
    const ended = new AbortController();
    const own = work(() => ended.abort());
    const late = sleep(most, null, { signal: ended.signal }).catch(() => null);
    // Whoever does it hears of an error.
    const over = own.catch(() => undefined).finally(() => ended.abort());
    first = Promise.race([over, late]);
    return own;
  };
}
