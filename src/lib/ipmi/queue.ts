import { IPMI_PORT } from "./address.ts";
import type { BmcTarget } from "./ask.ts";
import type { Timers } from "./talk.ts";

/**
 * Targets in random order, grouped by BMC and login.
 * @param window maximum groups in memory
 * @param random at least 0, below 1
 */
export function createQueue<T extends BmcTarget>(
  targets: AsyncIterable<T> | Iterable<T>,
  window: number,
  random: () => number,
) {
  const source =
    Symbol.asyncIterator in targets ? targets[Symbol.asyncIterator]() : targets[Symbol.iterator]();
  let ended = false;
  const waiting: [T, ...T[]][] = [];
  const byLogin = new Map<string, [T, ...T[]]>();
  const add = (target: T): void => {
    const login = loginOf(target);
    const same = byLogin.get(login);
    if (same?.[0].password() === target.password()) return void same.push(target);
    const alone: [T] = [target];
    byLogin.set(login, alone);
    waiting.push(alone);
  };
  return {
    /** Reads until the window is full or the source ends. */
    async fill(): Promise<void> {
      if (waiting.length > window / 2) return;
      while (!ended && waiting.length < window) {
        const { done, value } = await source.next();
        if (done === true) ended = true;
        else add(value);
      }
    },
    draw() {
      const at = Math.floor(random() * waiting.length);
      const [same, last] = [waiting[at], waiting.pop()];
      // Removal from the middle of 65,536 would move half of them.
      if (last !== undefined && at < waiting.length) waiting[at] = last;
      if (same !== undefined) byLogin.delete(loginOf(same[0]));
      return same;
    },
    isEmpty: () => ended && waiting.length === 0,
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
