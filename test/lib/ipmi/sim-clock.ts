import { setImmediate as settled } from "node:timers/promises";
import { seeded } from "../../../src/lib/ipmi/queue.ts";
import type { Chance, Timers } from "../../../src/lib/ipmi/talk.ts";

/** Time that goes on only when everything waits for it. */
export interface SimClock extends Timers {
  /** Lets time go on until `work` has ended. @throws what it throws, and when it waits for nothing */
  readonly run: <T>(work: Promise<T>) => Promise<T>;
}

export function simClock(): SimClock {
  let now = 0;
  let order = 0;
  let timers: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    date: () => new Date(Date.UTC(2026, 0, 1) + now),
    after(delay, run) {
      const timer = { at: now + Math.max(0, delay), order: order++, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
    async run(work) {
      let ended = false;
      const end = (): void => {
        ended = true;
      };
      work.then(end, end);
      for (;;) {
        await settled();
        if (ended) return work;
        const [next] = timers.toSorted((a, b) => a.at - b.at || a.order - b.order);
        if (next === undefined) throw new Error("it waits, and for nothing that will come");
        timers = timers.filter((one) => one !== next);
        now = next.at;
        next.run();
      }
    },
  };
}

/** Bytes and fractions that are the same for the same seed. */
export function simChance(seed: number): Chance {
  const fraction = seeded(seed);
  return {
    fraction,
    bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(fraction() * 256))),
  };
}
