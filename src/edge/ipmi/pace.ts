import type { Clock } from "./line.ts";

/** Lets `rate` things a second begin, a tenth of a second's worth at once. */
export interface Bucket {
  readonly take: () => boolean;
  /** Milliseconds until `take` gives again. */
  readonly delay: () => number;
}

export function createBucket(clock: Clock, rate: number): Bucket {
  const most = Math.max(1, rate / 10);
  let tokens = most;
  let filled = clock.now();
  const fill = (): void => {
    const now = clock.now();
    tokens = Math.min(most, tokens + ((now - filled) * rate) / 1000);
    filled = now;
  };
  return {
    take() {
      fill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    delay() {
      fill();
      return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1000) / rate);
    },
  };
}

/** One session per BMC at a time, and some time between two. Quirk Q17. */
export interface Gaps {
  readonly begin: (bmc: string) => void;
  readonly end: (bmc: string) => void;
  /** Milliseconds until it may be asked; Infinity while it is being asked. */
  readonly delay: (bmc: string) => number;
}

export function createGaps(clock: Clock, gap: number): Gaps {
  const asked = new Set<string>();
  /** In the order in which they ended. */
  const ended = new Map<string, number>();
  return {
    begin: (bmc) => void asked.add(bmc),
    end(bmc) {
      asked.delete(bmc);
      ended.delete(bmc);
      ended.set(bmc, clock.now());
      for (const [old, at] of ended) {
        if (at + gap > clock.now()) break;
        ended.delete(old);
      }
    },
    delay(bmc) {
      if (asked.has(bmc)) return Infinity;
      const at = ended.get(bmc);
      return at === undefined ? 0 : Math.max(0, at + gap - clock.now());
    },
  };
}

/** Fractions from 0 to 1, the same for the same seed; no secret depends on them. (mulberry32) */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
