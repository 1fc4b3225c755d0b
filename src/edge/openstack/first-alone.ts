import { setTimeout as sleep } from "node:timers/promises";

/** What is done alone where it comes first; that one is told how to say that it need not be alone any more. */
export type Alone = <T>(work: (passed: (() => void) | null) => Promise<T>) => Promise<T>;

/**
 * Lets who comes first do its work alone, and all others once it says so, or is over, however it ended, or takes too long.
 *
 * @param most milliseconds that the others wait
 * @returns runs what it is given
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
