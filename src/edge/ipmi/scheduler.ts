import { setMaxListeners } from "node:events";
import type { PowerProbe, PowerQuestion, PowerReading, PowerVerdict } from "../../model/power.ts";
import type { Clock } from "./line.ts";
import { createBucket, createGaps, seeded } from "./pace.ts";
import { bmcOf, createQueue } from "./queue.ts";
import { createSecondLooks, type Look } from "./second-looks.ts";

export interface Schedule {
  /** BMCs asked at the same time; at most 512, as more overflow the neighbour table. */
  readonly inFlight: number;
  readonly startsPerSecond: number;
  /** Milliseconds between two sessions with one BMC. */
  readonly gap: number;
  /** Milliseconds for one BMC, both times it is asked together. */
  readonly deadline: number;
  /** Of the order. */
  readonly seed: number;
  /** Questions held in memory, among which the order is shuffled. */
  readonly window: number;
}

/** @source facts/ipmi.md 4.3 */
export const SCHEDULE: Schedule = {
  inFlight: 256,
  startsPerSecond: 400,
  gap: 5000,
  deadline: 60_000,
  seed: 1,
  window: 65_536,
};

/** What a BMC's address says whoever asks it, and with whatever credentials. */
const NOBODY_THERE: readonly PowerVerdict[] = ["unreachable", "port-closed"];

/**
 * Asks every BMC, in a shuffled order, and once more those that failed, as soon as no other waits
 * for its first turn. Readings come as they are made; when the signal is aborted nothing more is
 * begun, and it ends with what is known once sessions are closed.
 *
 * A BMC that does not answer does so whoever asks: questions to it that wait for their turn have
 * their answer.
 *
 * @param options.failed is told of each failure that will be looked at again
 * @throws what the probe throws, when it is not by the signal
 */
export async function* askAll(
  questions: AsyncIterable<PowerQuestion>,
  probe: PowerProbe,
  options: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly schedule?: Partial<Schedule>;
    readonly failed?: (reading: PowerReading) => void;
  },
): AsyncGenerator<PowerReading, void> {
  const { clock } = options;
  const schedule = { ...SCHEDULE, ...options.schedule };
  if (!(schedule.inFlight >= 1 && schedule.inFlight <= 512))
    throw new RangeError("inFlight is from 1 to 512");
  const bucket = createBucket(clock, schedule.startsPerSecond);
  const gaps = createGaps(clock, schedule.gap);
  const queue = createQueue(questions, schedule.window, seeded(schedule.seed));
  const seconds = createSecondLooks(schedule.deadline);
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  // Each BMC in flight listens to it.
  setMaxListeners(0, signal);
  const running = new Set<Promise<void>>();
  const answers: PowerReading[] = [];
  const bugs: unknown[] = [];
  let wake = (): void => undefined;
  signal.addEventListener("abort", () => wake(), { once: true });

  const silent = { 1: new Map<string, PowerReading>(), 2: new Map<string, PowerReading>() };
  const delays = ([1, 2] as const).map(
    (pass) => (bmc: string) => (silent[pass].has(bmc) ? 0 : gaps.delay(bmc)),
  );
  const [firstDelay = gaps.delay, secondDelay = gaps.delay] = delays;

  const next = (): Look | undefined => {
    const question = queue.take(firstDelay);
    if (question !== undefined) return { question, pass: 1, deadline: schedule.deadline };
    return queue.isDrawn() ? seconds.take(secondDelay) : undefined;
  };

  const conclude = (look: Look, reading: PowerReading): void => {
    if (look.pass === 2) answers.push(seconds.conclude(look, reading));
    else if (seconds.add(look.question, reading)) options.failed?.(reading);
    else answers.push(reading);
  };

  const start = (look: Look): void => {
    const bmc = bmcOf(look.question);
    gaps.begin(bmc);
    const asking = probe(look.question, { deadline: look.deadline, signal })
      .then(
        (reading) => {
          if (NOBODY_THERE.includes(reading.verdict)) silent[look.pass].set(bmc, reading);
          conclude(look, reading);
        },
        (error: unknown) => {
          if (!signal.aborted) bugs.push(error);
        },
      )
      .then(() => {
        gaps.end(bmc);
        running.delete(asking);
        wake();
      });
    running.add(asking);
  };

  /** Until something ended, or time may have made something free. */
  const woken = (delay: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = delay === Infinity ? () => undefined : clock.after(delay, () => wake());
      wake = () => {
        cancel();
        resolve();
      };
    });

  /** @returns milliseconds until more may be begun */
  const begin = (): number => {
    while (!signal.aborted && running.size < schedule.inFlight) {
      const wait = bucket.delay();
      if (wait > 0) return wait;
      const look = next();
      if (look === undefined)
        return Math.min(
          queue.heldFor(firstDelay),
          queue.isDrawn() ? seconds.heldFor(secondDelay) : Infinity,
        );
      const known = silent[look.pass].get(bmcOf(look.question));
      if (known === undefined) {
        bucket.take();
        start(look);
      } else {
        const { bm_node_ids } = look.question;
        conclude(look, { ...known, bm_node_ids, attempts: 0 });
      }
    }
    return Infinity;
  };

  try {
    while (bugs.length === 0) {
      if (!signal.aborted) await queue.fill();
      const delay = begin();
      if (answers.length > 0) yield* answers.splice(0);
      else if (running.size > 0) await woken(delay);
      else if (signal.aborted || (queue.isEmpty() && seconds.isEmpty())) break;
      else await woken(delay);
    }
    yield* answers;
    if (bugs.length > 0) throw bugs[0];
    yield* seconds.owed();
  } finally {
    stop.abort();
    await Promise.all(running);
  }
}
