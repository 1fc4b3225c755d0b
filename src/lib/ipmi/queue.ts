import { IPMI_PORT } from "./address.ts";
import type { BmcReading, BmcTarget } from "./ask.ts";
import type { Timers } from "./talk.ts";

export type Schedule = Readonly<typeof SCHEDULE>;

/** @source facts/ipmi.md 4.3 */
export const SCHEDULE = {
  /** Concurrent BMCs. At most 512, because more overflow the neighbour table. */
  inFlight: 256,
  startsPerSecond: 400,
  /** Milliseconds between two sessions with one BMC. */
  gap: 5000,
  /** Milliseconds for both passes of one BMC together. */
  deadline: 60_000,
  /** Seed of the random order. */
  seed: 1,
  /** Targets in memory, which are shuffled. */
  window: 65_536,
};

/** Fields of a reading that the scheduler uses. */
export type Reading = Pick<BmcReading, "elapsed" | "attempts" | "pass"> & {
  readonly verdict: string;
};

/** One reading, and all targets with the same BMC and login. The first is read for all. */
export interface FleetAnswer<T, R> {
  readonly targets: readonly [T, ...T[]];
  readonly reading: R;
}

/** A BMC to read. */
export interface Query<T, R> {
  readonly targets: FleetAnswer<T, R>["targets"];
  readonly bmc: string;
  /** Reading of the first pass. Null in the first pass. */
  readonly first: R | null;
  readonly deadline: number;
}

/** Verdicts about the address, which do not depend on the credentials. */
const UNREACHABLE: readonly string[] = ["unreachable", "port-closed"];
/** Failures that a second pass may resolve. Refused credentials are not among them. */
const AGAIN: readonly string[] = [...UNREACHABLE, "no-slots", "busy", "protocol-error"];
/** Minimum milliseconds of the deadline for a second pass. */
const LEAST = 1000;
/** These BMCs answer immediately, so a short second pass is enough. */
const OCCUPIED: readonly string[] = ["no-slots", "busy"];
const OCCUPIED_MS = 7000;
const INCONCLUSIVE: readonly string[] = ["unreachable", "deadline"];

/** Selects the next BMC at random, so that no enclosure gets all requests at once. */
export function createQueries<T extends BmcTarget, R extends Reading>(
  targets: AsyncIterable<T> | Iterable<T>,
  { gap, window, seed, deadline }: Schedule,
  clock: Timers,
  failed?: (answer: FleetAnswer<T, R>) => void,
) {
  const queue = createQueue(targets, window, seeded(seed));
  /** Drawn while their BMC had a session or was in its gap. */
  const deferred: Query<T, R>[] = [];
  /** Failures, to be read again after all others. */
  const second: Query<T, R>[] = [];
  const owed = new Map<Query<T, R>["targets"], FleetAnswer<T, R>>();
  const answers: FleetAnswer<T, R>[] = [];
  /** By pass and BMC. */
  const silent = new Map<string, R>();
  /** When a BMC may have its next session: one at a time, with a gap. Quirk Q17. */
  const freeAt = new Map<string, number>();

  const keyOf = ({ first, bmc }: Query<T, R>): string => `${first === null ? 1 : 2} ${bmc}`;
  const delayOf = (query: Query<T, R>): number =>
    silent.has(keyOf(query)) ? 0 : Math.max(0, (freeAt.get(query.bmc) ?? 0) - clock.now());
  const freeIn = (queries: Query<T, R>[]): Query<T, R> | undefined => {
    const at = queries.findIndex((query) => delayOf(query) === 0);
    return at < 0 ? undefined : queries.splice(at, 1)[0];
  };
  /** A query whose BMC is free now. */
  const draw = (): Query<T, R> | undefined => {
    const free = freeIn(deferred);
    if (free !== undefined) return free;
    for (let targets = queue.draw(); targets !== undefined; targets = queue.draw()) {
      const query = { targets, bmc: bmcOf(targets[0]), first: null, deadline };
      if (delayOf(query) === 0) return query;
      deferred.push(query);
    }
    return queue.isEmpty() ? freeIn(second) : undefined;
  };
  const record = ({ targets, bmc, first }: Query<T, R>, reading: R): void => {
    if (first !== null) {
      owed.delete(targets);
      return void answers.push({ targets, reading: combined(first, reading) });
    }
    const answer = { targets, reading };
    const remaining = deadline - reading.elapsed;
    if (!AGAIN.includes(reading.verdict) || remaining < LEAST) return void answers.push(answer);
    owed.set(targets, answer);
    const most = OCCUPIED.includes(reading.verdict) ? OCCUPIED_MS : Infinity;
    second.push({ targets, bmc, first: reading, deadline: Math.min(remaining, most) });
    failed?.(answer);
  };
  return {
    fill: queue.fill,
    /** If another target with this BMC had no answer, that also applies to this one. */
    next(): Query<T, R> | undefined {
      let query = draw();
      for (; query !== undefined; query = draw()) {
        const cached = silent.get(keyOf(query));
        if (cached === undefined) break;
        record(query, { ...cached, attempts: 0 });
      }
      if (query !== undefined) freeAt.set(query.bmc, Infinity);
      return query;
    },
    /** Milliseconds until a waiting BMC is free, else Infinity. */
    delay: () =>
      [...deferred, ...(queue.isEmpty() ? second : [])].reduce(
        (least, query) => Math.min(least, delayOf(query)),
        Infinity,
      ),
    conclude(query: Query<T, R>, reading: R): void {
      if (UNREACHABLE.includes(reading.verdict)) silent.set(keyOf(query), reading);
      record(query, reading);
    },
    end({ bmc }: Query<T, R>): void {
      const now = clock.now();
      freeAt.delete(bmc);
      freeAt.set(bmc, now + gap);
      // In order of their end, apart from those with a session.
      for (const [old, at] of freeAt) {
        if (at > now && at !== Infinity) break;
        if (at <= now) freeAt.delete(old);
      }
    },
    isEmpty: () => queue.isEmpty() && deferred.length + second.length === 0,
    /** Readings that were not yielded yet. */
    take: () => answers.splice(0),
    /** First readings of BMCs whose second pass did not run. */
    owed: () => owed.values(),
  };
}

/** A second pass is shorter, so its silence does not override the first reading. */
function combined<R extends Reading>(first: R, second: R): R {
  const isLess = INCONCLUSIVE.includes(second.verdict) && !INCONCLUSIVE.includes(first.verdict);
  const answer = isLess ? first : second;
  return { ...answer, pass: 2, attempts: first.attempts + second.attempts };
}

/**
 * Targets in random order, grouped by BMC and login.
 * @param window maximum groups in memory
 */
function createQueue<T extends BmcTarget>(
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
function bmcOf({ address, port = IPMI_PORT }: BmcTarget): string {
  return `${address}|${port}`;
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
