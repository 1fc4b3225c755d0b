import { setMaxListeners } from "node:events";
import { type BmcReading, type BmcTarget, openClient } from "./ask.ts";
import { bmcOf, createBucket, createGaps, createQueue, seeded } from "./queue.ts";
import { SESSION_DEFAULTS } from "./session.ts";
import { type Limits, SYSTEM_CLOCK, type Timers } from "./talk.ts";

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

/** Reads one BMC. Rejects if this host cannot send requests, or if the signal is aborted. */
type Ask<T, R> = (target: T, limits: Limits) => Promise<R>;

interface FleetOptions<T, R> {
  /** After an abort, no further BMC is started. */
  readonly signal?: AbortSignal;
  readonly schedule?: Partial<Schedule>;
  /** Called for each failure that will be retried. */
  readonly failed?: (answer: FleetAnswer<T, R>) => void;
  readonly clock?: Timers;
}

/**
 * Reads the power state of every BMC in random order. Failures are retried once after all others.
 * Yields each reading as soon as it is known. An abort closes the open sessions.
 * Waiting targets of a BMC that does not answer get the same reading. Targets with one BMC and
 * login are read once.
 * @param options.ask replaces the reader of one BMC
 * @throws errors of `ask`, except after an abort; IpmiError if this host cannot send requests
 */
export async function* askAll<T extends BmcTarget, R extends Reading = BmcReading>(
  targets: AsyncIterable<T> | Iterable<T>,
  { ask, ...options }: FleetOptions<T, R> & { readonly ask?: Ask<T, R> } = {},
): AsyncGenerator<FleetAnswer<T, R>, void> {
  if (ask !== undefined) return yield* askEach(targets, ask, options);
  const client = openClient(SESSION_DEFAULTS, options.clock);
  try {
    // Only `ask` has readings of another type.
    yield* askEach(targets, client.ask as unknown as Ask<T, R>, options);
  } finally {
    await client.close();
  }
}

async function* askEach<T extends BmcTarget, R extends Reading>(
  targets: AsyncIterable<T> | Iterable<T>,
  ask: Ask<T, R>,
  { signal: external, clock = SYSTEM_CLOCK, failed, ...options }: FleetOptions<T, R>,
): AsyncGenerator<FleetAnswer<T, R>, void> {
  const schedule = { ...SCHEDULE, ...options.schedule };
  if (!(schedule.inFlight >= 1 && schedule.inFlight <= 512))
    throw new RangeError("inFlight must be from 1 to 512");
  const stop = new AbortController();
  const signal = external === undefined ? stop.signal : AbortSignal.any([external, stop.signal]);
  // One listener for each concurrent BMC.
  setMaxListeners(0, signal);
  const queries = createQueries<T, R>(targets, schedule, clock, failed);
  const bucket = createBucket(clock, schedule.startsPerSecond);
  const flight = createFlight(clock, signal);

  const start = (query: Query<T, R>): void =>
    flight.start(async () => {
      queries.begin(query);
      try {
        queries.conclude(query, await ask(query.targets[0], { deadline: query.deadline, signal }));
      } finally {
        queries.end(query);
      }
    });
  /** @returns milliseconds until more may start */
  const begin = (): number => {
    while (!signal.aborted && flight.size() < schedule.inFlight) {
      const wait = bucket.delay();
      if (wait > 0) return wait;
      const query = queries.next();
      if (query === undefined) return queries.delay();
      bucket.take();
      start(query);
    }
    return Infinity;
  };

  try {
    while (!flight.broke()) {
      if (!signal.aborted) await queries.fill();
      const delay = begin();
      const answers = queries.take();
      if (answers.length > 0) yield* answers;
      else if (flight.size() > 0) await flight.woken(delay);
      else if (signal.aborted || queries.isEmpty()) break;
      else await flight.woken(delay);
    }
    yield* queries.take();
    flight.rethrow();
    yield* queries.owed();
  } finally {
    stop.abort();
    await flight.ended();
  }
}

function createFlight(clock: Timers, signal: AbortSignal) {
  const running = new Set<Promise<void>>();
  const bugs: unknown[] = [];
  let wake = (): void => undefined;
  signal.addEventListener("abort", () => wake(), { once: true });
  return {
    start(work: () => Promise<void>): void {
      const going = work()
        .catch((error: unknown) => {
          if (!signal.aborted) bugs.push(error);
        })
        .then(() => {
          running.delete(going);
          wake();
        });
      running.add(going);
    },
    size: () => running.size,
    /** Resolves when a request ends, on abort, or after the delay in milliseconds. */
    woken: (delay: number) =>
      new Promise<void>((resolve) => {
        const cancel = delay === Infinity ? () => undefined : clock.after(delay, () => wake());
        wake = () => {
          cancel();
          resolve();
        };
      }),
    /** Whether a request failed, except by an abort. */
    broke: () => bugs.length > 0,
    rethrow(): void {
      if (bugs.length > 0) throw bugs[0];
    },
    ended: () => Promise.all(running),
  };
}

/** A BMC to read now. */
interface Query<T, R> extends Pick<FleetAnswer<T, R>, "targets"> {
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
function createQueries<T extends BmcTarget, R extends Reading>(
  targets: AsyncIterable<T> | Iterable<T>,
  { gap, window, seed, deadline }: Schedule,
  clock: Timers,
  failed: FleetOptions<T, R>["failed"],
) {
  const gaps = createGaps(clock, gap);
  const queue = createQueue(targets, window, seeded(seed));
  /** Drawn while their BMC had a session or was in its gap. */
  const deferred: Query<T, R>[] = [];
  /** Failures, to be read again after all others. */
  const second: Query<T, R>[] = [];
  const owed = new Map<Query<T, R>["targets"], FleetAnswer<T, R>>();
  const silent = { first: new Map<string, R>(), second: new Map<string, R>() };
  const answers: FleetAnswer<T, R>[] = [];

  const silentIn = ({ first }: Query<T, R>): Map<string, R> =>
    first === null ? silent.first : silent.second;
  const delayOf = (query: Query<T, R>): number => {
    const bmc = bmcOf(query.targets[0]);
    return silentIn(query).has(bmc) ? 0 : gaps.delay(bmc);
  };
  const freeIn = (queries: Query<T, R>[]): Query<T, R> | undefined => {
    const at = queries.findIndex((query) => delayOf(query) === 0);
    return at < 0 ? undefined : queries.splice(at, 1)[0];
  };
  /** A query whose BMC is free now. */
  const draw = (): Query<T, R> | undefined => {
    const free = freeIn(deferred);
    if (free !== undefined) return free;
    for (let same = queue.draw(); same !== undefined; same = queue.draw()) {
      const query = { targets: same, first: null, deadline };
      if (delayOf(query) === 0) return query;
      deferred.push(query);
    }
    return queue.isEmpty() ? freeIn(second) : undefined;
  };
  const record = ({ targets, first }: Query<T, R>, reading: R): void => {
    if (first !== null) {
      owed.delete(targets);
      answers.push({ targets, reading: combined(first, reading) });
      return;
    }
    const answer = { targets, reading };
    const remaining = deadline - reading.elapsed;
    if (!AGAIN.includes(reading.verdict) || remaining < LEAST) return void answers.push(answer);
    owed.set(targets, answer);
    const most = OCCUPIED.includes(reading.verdict) ? OCCUPIED_MS : Infinity;
    second.push({ targets, first: reading, deadline: Math.min(remaining, most) });
    failed?.(answer);
  };
  return {
    fill: queue.fill,
    /** If another target with this BMC had no answer, that also applies to this one. */
    next(): Query<T, R> | undefined {
      for (let query = draw(); query !== undefined; query = draw()) {
        const cached = silentIn(query).get(bmcOf(query.targets[0]));
        if (cached === undefined) return query;
        record(query, { ...cached, attempts: 0 });
      }
      return undefined;
    },
    /** Milliseconds until a waiting BMC is free, else Infinity. */
    delay(): number {
      const all = queue.isEmpty() ? [...deferred, ...second] : deferred;
      return all.reduce((least, query) => Math.min(least, delayOf(query)), Infinity);
    },
    begin: ({ targets: [target] }: Query<T, R>): void => gaps.begin(bmcOf(target)),
    conclude(query: Query<T, R>, reading: R): void {
      if (UNREACHABLE.includes(reading.verdict))
        silentIn(query).set(bmcOf(query.targets[0]), reading);
      record(query, reading);
    },
    end: ({ targets: [target] }: Query<T, R>): void => gaps.end(bmcOf(target)),
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
