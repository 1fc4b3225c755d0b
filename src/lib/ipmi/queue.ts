import { IPMI_PORT } from "./address.ts";
import type { BmcTarget } from "./ask.ts";
import type { Timers } from "./talk.ts";

/** Milliseconds until a BMC may be read; Infinity while it is being read. */
export type Delay = (bmc: string) => number;

/** Targets with the same BMC and login. The first is read for all. */
export type Same<T> = readonly [T, ...T[]];

/**
 * Waiting targets in random order, so that no enclosure gets all requests at once.
 * @param window maximum targets in memory
 * @param random at least 0, below 1
 */
export function createQueue<T extends BmcTarget>(
  targets: AsyncIterable<T> | Iterable<T>,
  window: number,
  random: () => number,
) {
  const source =
    Symbol.asyncIterator in targets ? targets[Symbol.asyncIterator]() : targets[Symbol.iterator]();
  const waiting = createHeap<T>(random);
  /** Drawn while their BMC had a session or was in its gap. */
  const deferred: Same<T>[] = [];
  let ended = false;
  return {
    /** Reads until the window is full or the source ends. */
    async fill(): Promise<void> {
      if (waiting.size() > window / 2) return;
      while (!ended && waiting.size() < window) {
        const { done, value } = await source.next();
        if (done === true) ended = true;
        else waiting.add(value);
      }
    },
    /** Targets with one BMC and login, which is free now. */
    take(delay: Delay): Same<T> | undefined {
      const free = deferred.findIndex(([target]) => delay(bmcOf(target)) === 0);
      if (free >= 0) return deferred.splice(free, 1)[0];
      for (let drawn = waiting.draw(); drawn !== undefined; drawn = waiting.draw()) {
        if (delay(bmcOf(drawn[0])) === 0) return drawn;
        deferred.push(drawn);
      }
      return undefined;
    },
    /** Milliseconds until a postponed target is free, else Infinity. */
    postponedFor: (delay: Delay): number =>
      Math.min(Infinity, ...deferred.map(([target]) => delay(bmcOf(target)))),
    /** Whether only postponed targets remain. */
    isDrawn: () => ended && waiting.size() === 0,
    isEmpty: () => ended && waiting.size() === 0 && deferred.length === 0,
  };
}

/** Targets to draw at random, grouped by BMC and login. */
function createHeap<T extends BmcTarget>(random: () => number) {
  const all: Same<T>[] = [];
  const indexes = new Map<string, number>();
  return {
    size: () => all.length,
    add(target: T): void {
      const key = loginOf(target);
      const at = indexes.get(key);
      const same = at === undefined ? undefined : all[at];
      if (at !== undefined && same !== undefined && same[0].password() === target.password()) {
        all[at] = [...same, target];
        return;
      }
      indexes.set(key, all.length);
      all.push([target]);
    },
    draw(): Same<T> | undefined {
      const at = Math.floor(random() * all.length);
      const last = all.pop();
      if (last === undefined) return undefined;
      const drawn = at === all.length ? last : all[at];
      if (drawn === undefined) return undefined;
      indexes.delete(loginOf(drawn[0]));
      if (drawn !== last) {
        all[at] = last;
        indexes.set(loginOf(last[0]), at);
      }
      return drawn;
    },
  };
}

/** Everything but the password, which is compared separately. */
function loginOf(target: BmcTarget): string {
  const { user, suite = "", level = "", kg } = target;
  const second = kg === undefined ? "" : Buffer.from(kg()).toString("hex");
  return `${bmcOf(target)}|${suite}|${level}|${second}|${user}`;
}

/** Key of a BMC, which must have only one session at a time. */
export function bmcOf({ address, port = IPMI_PORT }: BmcTarget): string {
  return `${address}|${port}`;
}

/** Token bucket with `rate` per second, and bursts of a tenth of a second. */
export function createBucket(clock: Timers, rate: number) {
  const most = Math.max(1, rate / 10);
  let tokens = most;
  let filled = clock.now();
  const fill = (): void => {
    const now = clock.now();
    tokens = Math.min(most, tokens + ((now - filled) * rate) / 1000);
    filled = now;
  };
  return {
    take(): void {
      fill();
      tokens -= 1;
    },
    /** Milliseconds until one may be taken. */
    delay(): number {
      fill();
      return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1000) / rate);
    },
  };
}

/** One session per BMC at a time, with a gap between two. Quirk Q17. */
export function createGaps(clock: Timers, gap: number) {
  const active = new Set<string>();
  /** In order of their end. */
  const ended = new Map<string, number>();
  return {
    begin: (bmc: string): void => void active.add(bmc),
    end(bmc: string): void {
      active.delete(bmc);
      ended.delete(bmc);
      ended.set(bmc, clock.now());
      for (const [old, at] of ended) {
        if (at + gap > clock.now()) break;
        ended.delete(old);
      }
    },
    /** Milliseconds until it may be read; Infinity while it is being read. */
    delay(bmc: string): number {
      if (active.has(bmc)) return Infinity;
      const at = ended.get(bmc);
      return at === undefined ? 0 : Math.max(0, at + gap - clock.now());
    },
  };
}

/** Fractions from 0 to 1 by mulberry32. Not for secrets. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
