import { setMaxListeners } from "node:events";
import type { PowerProbe, PowerQuestion, PowerReading, PowerVerdict } from "../../model/power.ts";
import type { Clock } from "./line.ts";
import { type Bucket, createBucket, createGaps, type Gaps, seeded } from "./pace.ts";
import { bmcOf, createQueue, type Queue } from "./queue.ts";

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

/** Failures that a second look in a quieter network can better; a refusal is never among them. */
const AGAIN: readonly PowerVerdict[] = [
  "unreachable",
  "no-slots",
  "busy",
  "protocol-error",
  "no-session",
  "port-closed",
];

/** Milliseconds: with less of the deadline left a BMC is not asked again. */
const LEAST = 1000;

interface Asked {
  readonly question: PowerQuestion;
  readonly reading: PowerReading;
}

/**
 * Asks every BMC, in a shuffled order, and once more those that failed, when all others are done.
 * Readings come as they are made; when the signal is aborted it ends with what is known by then,
 * and sessions are closed.
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
  const { clock, signal } = options;
  const schedule = { ...SCHEDULE, ...options.schedule };
  if (!(schedule.inFlight >= 1 && schedule.inFlight <= 512))
    throw new RangeError("inFlight is from 1 to 512");
  const random = seeded(schedule.seed);
  const pace = {
    bucket: createBucket(clock, schedule.startsPerSecond),
    gaps: createGaps(clock, schedule.gap),
  };
  const run = (
    source: AsyncIterable<PowerQuestion>,
    left: ReadonlyMap<string, number> = new Map(),
  ): AsyncGenerator<Asked, void> => {
    const queue = createQueue(source, schedule.window, random);
    return pass(queue, probe, { clock, signal, schedule, left, ...pace });
  };

  const failures = new Map<string, Asked>();
  for await (const asked of run(questions)) {
    if (!AGAIN.includes(asked.reading.verdict)) yield asked.reading;
    else {
      failures.set(nameOf(asked.question), asked);
      options.failed?.(asked.reading);
    }
  }
  if (!signal.aborted) {
    const again = [...failures.values()].filter(
      ({ reading }) => timeLeft(schedule.deadline, reading) >= LEAST,
    );
    const left = new Map(
      again.map(({ question, reading }) => [
        nameOf(question),
        timeLeft(schedule.deadline, reading),
      ]),
    );
    for await (const { question, reading } of run(each(again), left)) {
      const first = failures.get(nameOf(question));
      failures.delete(nameOf(question));
      const attempts = reading.attempts + (first?.reading.attempts ?? 0);
      const told =
        first !== undefined && saysLess(reading, first.reading) ? first.reading : reading;
      yield { ...told, pass: 2, attempts };
    }
  }
  for (const { reading } of failures.values()) yield reading;
}

/** Machines that share BMC and credentials are one question, so the first id names it. */
function nameOf({ bm_node_ids }: PowerQuestion): string {
  return bm_node_ids.join(" ");
}

const SAYS_LITTLE: readonly PowerVerdict[] = ["unreachable", "deadline"];

/** The second look has only the time that is left: that it saw nothing takes nothing back. */
function saysLess(second: PowerReading, first: PowerReading): boolean {
  return SAYS_LITTLE.includes(second.verdict) && !SAYS_LITTLE.includes(first.verdict);
}

function timeLeft(deadline: number, { elapsed }: PowerReading): number {
  return deadline - elapsed;
}

async function* each(asked: readonly Asked[]): AsyncGenerator<PowerQuestion, void> {
  for (const { question } of asked) yield question;
}

/**
 * Every question of the queue once. A BMC that does not answer does so whoever asks: questions to
 * it that wait for their turn have their answer.
 *
 * @param context.left milliseconds for questions that do not have the whole deadline
 */
async function* pass(
  queue: Queue,
  probe: PowerProbe,
  context: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly schedule: Schedule;
    readonly left: ReadonlyMap<string, number>;
    readonly bucket: Bucket;
    readonly gaps: Gaps;
  },
): AsyncGenerator<Asked, void> {
  const { clock, schedule, left, bucket, gaps } = context;
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  // Each BMC in flight listens to it.
  setMaxListeners(0, signal);
  const running = new Set<Promise<void>>();
  const answers: Asked[] = [];
  const bugs: unknown[] = [];
  let wake = (): void => undefined;
  signal.addEventListener("abort", () => wake(), { once: true });

  const silent = new Map<string, PowerReading>();
  const delayOf = (bmc: string): number => (silent.has(bmc) ? 0 : gaps.delay(bmc));

  const start = (question: PowerQuestion): void => {
    gaps.begin(bmcOf(question));
    const deadline = left.get(nameOf(question)) ?? schedule.deadline;
    const asking = probe(question, { deadline, signal })
      .then(
        (reading) => {
          answers.push({ question, reading });
          if (reading.verdict === "unreachable") silent.set(bmcOf(question), reading);
        },
        (error: unknown) => {
          if (!signal.aborted) bugs.push(error);
        },
      )
      .then(() => {
        gaps.end(bmcOf(question));
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

  try {
    while (bugs.length === 0) {
      if (!signal.aborted) await queue.fill();
      let delay = Infinity;
      while (!signal.aborted && running.size < schedule.inFlight) {
        delay = bucket.delay();
        if (delay > 0) break;
        const question = queue.take(delayOf);
        delay = queue.heldFor(delayOf);
        if (question === undefined) break;
        const known = silent.get(bmcOf(question));
        if (known !== undefined) {
          answers.push({
            question,
            reading: { ...known, bm_node_ids: question.bm_node_ids, attempts: 0 },
          });
          continue;
        }
        bucket.take();
        start(question);
      }
      if (running.size >= schedule.inFlight) delay = Infinity;
      if (answers.length > 0) yield* answers.splice(0);
      else if (running.size === 0 && (signal.aborted || queue.isEmpty())) return;
      else await woken(delay);
    }
    yield* answers;
    throw bugs[0];
  } finally {
    stop.abort();
    await Promise.all(running);
  }
}
