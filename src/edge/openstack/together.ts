import { setTimeout as sleep } from "node:timers/promises";
import { pause } from "./passing.ts";

interface Waiter<K, V> {
  readonly key: K;
  readonly resolve: (value: V | Promise<V>) => void;
  readonly reject: (cause: unknown) => void;
}

/** Tries after which a pause is about two seconds. */
const LONG = 7;

/**
 * Lets many who ask a service the same kind of question share it. Who asks while one is under way is answered by the
 * next, so that nobody gets an answer that is older than what he asked. A question waits a tenth of a second for others,
 * and after one that several shared two seconds.
 *
 * @param ask answers all that asked by then
 */
export function together<K, V>(
  ask: (keys: readonly K[]) => Promise<(key: K) => V | Promise<V>>,
): (key: K) => Promise<V> {
  let waiting: Waiter<K, V>[] = [];
  let under = false;
  async function answer(asked: readonly Waiter<K, V>[]): Promise<void> {
    try {
      const of = await ask(asked.map(({ key }) => key));
      for (const { key, resolve } of asked) resolve(of(key));
    } catch (cause) {
      for (const { reject } of asked) reject(cause);
    }
  }
  async function run(): Promise<void> {
    under = true;
    while (waiting.length > 0) {
      await pause(0);
      const asked = waiting;
      waiting = [];
      await answer(asked);
      if (asked.length > 1) await pause(LONG);
    }
    under = false;
  }
  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (!under) void run();
    });
}

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
