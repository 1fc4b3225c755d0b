import { setMaxListeners } from "node:events";
import { type BmcReading, type BmcTarget, openClient } from "./ask.ts";
import {
  bmcOf,
  createBucket,
  createGaps,
  createQueue,
  type Delay,
  type Same,
  seeded,
} from "./queue.ts";
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

/** One reading, and all targets with the same BMC and login. */
export interface FleetAnswer<T, R> {
  readonly targets: Same<T>;
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
export function askAll<T extends BmcTarget>(
  targets: AsyncIterable<T> | Iterable<T>,
  options?: FleetOptions<T, BmcReading>,
): AsyncGenerator<FleetAnswer<T, BmcReading>, void>;
export function askAll<T extends BmcTarget, R extends Reading>(
  targets: AsyncIterable<T> | Iterable<T>,
  options: FleetOptions<T, R> & { readonly ask: Ask<T, R> },
): AsyncGenerator<FleetAnswer<T, R>, void>;
export async function* askAll<T extends BmcTarget>(
  targets: AsyncIterable<T> | Iterable<T>,
  { ask, ...options }: FleetOptions<T, BmcReading> & { readonly ask?: Ask<T, BmcReading> } = {},
): AsyncGenerator<FleetAnswer<T, BmcReading>, void> {
  if (ask !== undefined) return yield* askEach(targets, ask, options);
  const client = openClient(SESSION_DEFAULTS, options.clock);
  try {
    yield* askEach(targets, client.ask, options);
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
      if (queries.isAnswered(query)) continue;
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
interface Query<T, R> {
  readonly targets: Same<T>;
  /** Reading of the first pass. Null in the first pass. */
  readonly first: R | null;
  readonly deadline: number;
}

/** Verdicts about the address, which do not depend on the credentials. */
const UNREACHABLE: readonly string[] = ["unreachable", "port-closed"];

/** Selects the next BMC, and collects the readings. */
function createQueries<T extends BmcTarget, R extends Reading>(
  targets: AsyncIterable<T> | Iterable<T>,
  { gap, window, seed, deadline }: Schedule,
  clock: Timers,
  failed: FleetOptions<T, R>["failed"],
) {
  const gaps = createGaps(clock, gap);
  const queue = createQueue(targets, window, seeded(seed));
  const again = createSecondQueries<T, R>(deadline);
  const silent = { first: new Map<string, R>(), second: new Map<string, R>() };
  const delays = {
    first: (bmc: string) => (silent.first.has(bmc) ? 0 : gaps.delay(bmc)),
    second: (bmc: string) => (silent.second.has(bmc) ? 0 : gaps.delay(bmc)),
  };
  let answers: FleetAnswer<T, R>[] = [];
  const silentIn = ({ first }: Query<T, R>): Map<string, R> =>
    first === null ? silent.first : silent.second;
  const record = (query: Query<T, R>, reading: R): void => {
    const answer = { targets: query.targets, reading };
    if (query.first !== null)
      answers.push({ ...answer, reading: again.conclude(query, query.first, reading) });
    else if (again.add(answer)) failed?.(answer);
    else answers.push(answer);
  };
  return {
    fill: queue.fill,
    /** A target whose BMC is free now. */
    next(): Query<T, R> | undefined {
      const same = queue.take(delays.first);
      if (same !== undefined) return { targets: same, first: null, deadline };
      return queue.isDrawn() ? again.take(delays.second) : undefined;
    },
    /** Milliseconds until a waiting BMC is free, else Infinity. */
    delay: (): number =>
      Math.min(
        queue.postponedFor(delays.first),
        queue.isDrawn() ? again.postponedFor(delays.second) : Infinity,
      ),
    /** Whether another target with this BMC had no answer, which then also applies to this one. */
    isAnswered(query: Query<T, R>): boolean {
      const cached = silentIn(query).get(bmcOf(query.targets[0]));
      if (cached !== undefined) record(query, { ...cached, attempts: 0 });
      return cached !== undefined;
    },
    begin: ({ targets: [target] }: Query<T, R>): void => gaps.begin(bmcOf(target)),
    conclude(query: Query<T, R>, reading: R): void {
      if (UNREACHABLE.includes(reading.verdict))
        silentIn(query).set(bmcOf(query.targets[0]), reading);
      record(query, reading);
    },
    end: ({ targets: [target] }: Query<T, R>): void => gaps.end(bmcOf(target)),
    isEmpty: () => queue.isEmpty() && again.isEmpty(),
    /** Readings that were not yielded yet. */
    take(): readonly FleetAnswer<T, R>[] {
      const taken = answers;
      answers = [];
      return taken;
    },
    /** First BMC readings whose second pass did not run. */
    owed: again.owed,
  };
}

/** Failures that a second pass may resolve. Refused credentials are not among them. */
const AGAIN: readonly string[] = [
  ...["unreachable", "port-closed", "no-slots", "busy", "protocol-error"],
];
/** Minimum milliseconds of the deadline for a second pass. */
const LEAST = 1000;
/** These BMCs answer immediately, so a short second pass is enough. */
const OCCUPIED: readonly string[] = ["no-slots", "busy"];
const OCCUPIED_MS = 7000;
const INCONCLUSIVE: readonly string[] = ["unreachable", "deadline"];

/**
 * Failed BMCs for the second pass.
 * @param deadline milliseconds for both passes together
 */
function createSecondQueries<T extends BmcTarget, R extends Reading>(deadline: number) {
  const waiting: Query<T, R>[] = [];
  const owed = new Map<Same<T>, FleetAnswer<T, R>>();
  return {
    /** @returns false if this failure is not retried */
    add(answer: FleetAnswer<T, R>): boolean {
      const { targets, reading } = answer;
      const remaining = deadline - reading.elapsed;
      if (!AGAIN.includes(reading.verdict) || remaining < LEAST) return false;
      owed.set(targets, answer);
      const most = OCCUPIED.includes(reading.verdict) ? OCCUPIED_MS : Infinity;
      waiting.push({ targets, first: reading, deadline: Math.min(remaining, most) });
      return true;
    },
    take(delay: Delay): Query<T, R> | undefined {
      const at = waiting.findIndex(({ targets: [target] }) => delay(bmcOf(target)) === 0);
      return at < 0 ? undefined : waiting.splice(at, 1)[0];
    },
    postponedFor: (delay: Delay): number =>
      waiting.reduce((least, { targets: [one] }) => Math.min(least, delay(bmcOf(one))), Infinity),
    isEmpty: () => waiting.length === 0,
    /** Combined reading of both passes. */
    conclude({ targets }: Query<T, R>, first: R, second: R): R {
      owed.delete(targets);
      const isLess = INCONCLUSIVE.includes(second.verdict) && !INCONCLUSIVE.includes(first.verdict);
      // A second pass is shorter, so its silence does not override the first reading.
      const answer = isLess ? first : second;
      return { ...answer, pass: 2, attempts: first.attempts + second.attempts };
    },
    owed: () => owed.values(),
  };
}
