import { setMaxListeners } from "node:events";
import { type BmcReading, type BmcTarget, openClient } from "./ask.ts";
import {
  createQueries,
  type FleetAnswer,
  type Query,
  type Reading,
  SCHEDULE,
  type Schedule,
} from "./queue.ts";
import { SESSION_DEFAULTS } from "./session.ts";
import { type Limits, SYSTEM_CLOCK, type Timers } from "./talk.ts";

interface FleetOptions<T, R> {
  /** After an abort, no further BMC is started. */
  readonly signal?: AbortSignal;
  readonly schedule?: Partial<Schedule>;
  /** Called for each failure that will be retried. */
  readonly failed?: (answer: FleetAnswer<T, R>) => void;
  readonly clock?: Timers | undefined;
  /** Replaces the reader of one BMC. Rejects if this host cannot send requests, or if the signal is aborted. */
  readonly ask?: (target: T, limits: Limits) => Promise<R>;
}

/**
 * Reads the power state of every BMC in random order. Failures are retried once after all others.
 * Yields each reading as soon as it is known. An abort closes the open sessions.
 * Waiting targets of a BMC that does not answer get the same reading. Targets with one BMC and
 * login are read once.
 * @throws errors of `ask`, except after an abort; IpmiError if this host cannot send requests
 */
export async function* askAll<T extends BmcTarget, R extends Reading = BmcReading>(
  targets: AsyncIterable<T> | Iterable<T>,
  { signal: external, clock = SYSTEM_CLOCK, failed, ...options }: FleetOptions<T, R> = {},
): AsyncGenerator<FleetAnswer<T, R>, void> {
  const schedule = { ...SCHEDULE, ...options.schedule };
  if (!(schedule.inFlight >= 1 && schedule.inFlight <= 512))
    throw new RangeError("inFlight must be from 1 to 512");
  const stop = new AbortController();
  const signal = external === undefined ? stop.signal : AbortSignal.any([external, stop.signal]);
  // One listener for each concurrent BMC.
  setMaxListeners(0, signal);
  const client = options.ask === undefined ? openClient(SESSION_DEFAULTS, clock) : null;
  // Only `ask` has readings of another type.
  const ask = options.ask ?? (client?.ask as unknown as NonNullable<typeof options.ask>);
  const queries = createQueries<T, R>(targets, schedule, clock, failed);
  const startDelay = createBucket(clock, schedule.startsPerSecond);
  const running = new Set<Promise<void>>();
  const bugs: unknown[] = [];
  let wake = (): void => undefined;
  signal.addEventListener("abort", () => wake(), { once: true });

  const read = async (query: Query<T, R>): Promise<void> => {
    try {
      const { targets, deadline } = query;
      queries.conclude(query, await ask(targets[0], { deadline, signal }));
    } catch (error) {
      if (!signal.aborted) bugs.push(error);
    } finally {
      queries.end(query);
    }
  };
  /** @returns milliseconds until more may start */
  const begin = (): number => {
    while (!signal.aborted && running.size < schedule.inFlight) {
      const wait = startDelay();
      if (wait > 0) return wait;
      const query = queries.next();
      if (query === undefined) return queries.delay();
      startDelay(1);
      const going = read(query).then(() => {
        running.delete(going);
        wake();
      });
      running.add(going);
    }
    return Infinity;
  };

  try {
    while (bugs.length === 0) {
      if (!signal.aborted) await queries.fill();
      const delay = begin();
      const answers = queries.take();
      if (answers.length > 0) {
        // No await before the wait below, or the end of a reading would be missed.
        yield* answers;
        continue;
      }
      if (running.size === 0 && (signal.aborted || queries.isEmpty())) break;
      await new Promise<void>((resolve) => {
        const cancel = delay === Infinity ? () => undefined : clock.after(delay, () => wake());
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
    yield* queries.take();
    if (bugs.length > 0) throw bugs[0];
    yield* queries.owed();
  } finally {
    stop.abort();
    await Promise.all(running);
    await client?.close();
  }
}

/** Token bucket with bursts of a tenth of a second. Takes tokens, or returns how long to wait. */
function createBucket(clock: Timers, rate: number): (take?: number) => number {
  const most = Math.max(1, rate / 10);
  let tokens = most;
  let filled = clock.now();
  return (take = 0) => {
    const now = clock.now();
    tokens = Math.min(most, tokens + ((now - filled) * rate) / 1000) - take;
    filled = now;
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1000) / rate);
  };
}
