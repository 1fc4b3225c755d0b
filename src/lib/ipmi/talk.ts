import { randomFillSync, randomInt } from "node:crypto";
import { performance } from "node:perf_hooks";

/** The wire to one BMC, as the sockets give it, or as a test plays it. */
export interface Line {
  /** Sends a datagram. It may be lost; that it could not even be sent, `fault` tells. */
  readonly send: (datagram: Buffer) => void;
  /** What comes from the BMC goes to `handler` from now on; null: nowhere. */
  readonly receive: (handler: ((datagram: Buffer) => void) | null) => void;
  /**
   * Goes on from another local port, as some BMCs hear no second login from the one of the first;
   * from the same where there is none to be had.
   */
  readonly renew: () => Promise<void>;
  /** A number for a login, not 0, that no other session of this process has now. */
  readonly newSession: () => number;
  /**
   * Why the system would not send (`ENETUNREACH`), or what the other side's system said of it
   * (`ECONNREFUSED`: the port is closed), which is heard after `renew` only; null: neither.
   */
  readonly fault: () => string | null;
}

export interface Timers {
  /** Milliseconds since some moment; never goes back. */
  readonly now: () => number;
  /** What the calendar says, for people. */
  readonly date: () => Date;
  /** Calls `run` once, `delay` milliseconds from now. @returns what takes it back */
  readonly after: (delay: number, run: () => void) => () => void;
}

export interface Chance {
  readonly bytes: (length: number) => Buffer;
  /** At least 0, below 1. */
  readonly fraction: () => number;
}

/** How long it may take, and what ends it before. */
export interface Limits {
  /** Milliseconds from now; every wait ends then. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** What to send, how long to wait each time, and how the answer is known. */
interface Exchange<T> {
  readonly make: (sending: number) => Buffer;
  readonly waits: readonly number[];
  readonly accept: (datagram: Buffer) => T | null;
}

/** Questions and answers with one BMC, within its deadline. One at a time. */
export interface Talk {
  /**
   * Sends what `make` gives, once for each of `waits`, until `accept` finds an answer in a datagram.
   *
   * @param waits milliseconds to wait after each sending
   * @param accept null for a datagram that is not the answer: late, foreign, or garbage
   * @param ending it has to be known, or done, even when all is to stop: it goes on for two seconds
   * @returns null when nothing came in time
   * @throws the signal's reason when it is aborted, unless `ending`
   */
  readonly exchange: <T>(
    make: Exchange<T>["make"],
    waits: Exchange<T>["waits"],
    accept: Exchange<T>["accept"],
    ending?: boolean,
  ) => Promise<T | null>;
  /** Sends and does not wait. */
  readonly tell: (datagram: Buffer) => void;
  readonly pause: (delay: number) => Promise<void>;
  /** Whether the deadline is over. */
  readonly expired: () => boolean;
  /** Sets another deadline, so many milliseconds from now. */
  readonly allow: (deadline: number) => void;
  /** Milliseconds of the fastest exchange that needed one sending only. */
  readonly rtt: () => number | null;
  readonly elapsed: () => number;
  /** Datagrams that were no answer. */
  readonly unexpected: () => number;
  readonly newSession: () => number;
  /** The next datagrams leave from another local port. */
  readonly renew: () => Promise<void>;
  /** Listens to the signal no more; nothing may be asked after it. */
  readonly end: () => void;
  readonly chance: Chance;
}

/** Milliseconds from when all is to stop until the last answer is waited for. */
const ENDING = 2000;

const nothing = (): void => undefined;

export function startTalk(
  line: Line,
  clock: Timers,
  chance: Chance,
  { deadline, signal }: Limits,
): Talk {
  const begun = clock.now();
  const limit = createLimit(clock, deadline);
  let rtt: number | null = null;
  let unexpected = 0;
  const stray = (): void => {
    unexpected += 1;
  };
  /** Ends the wait that is going on. */
  let stop = nothing;
  const abort = (): void => stop();
  // One listener for all waits: ten thousand BMCs wait ten times each.
  signal.addEventListener("abort", abort);
  return {
    // One promise and one timer at a time: this is where a fleet's time and memory go.
    exchange: (make, waits, accept, ending = false) =>
      new Promise((resolve, reject) => {
        if (signal.aborted && !ending) return reject(signal.reason);
        let unlimit = nothing;
        let leave = nothing;
        stop = () => {
          if (ending) unlimit = clock.after(ENDING, () => leave());
          else {
            reject(signal.reason);
            leave();
          }
        };
        leave = carry(line, clock, limit, { make, waits, accept, stray }, (answer, took) => {
          unlimit();
          stop = nothing;
          if (took !== null) rtt = Math.min(rtt ?? Infinity, took);
          resolve(answer);
        });
      }),
    tell: line.send,
    pause: (delay) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const cancel = clock.after(Math.min(delay, limit.left()), () => {
          stop = nothing;
          resolve();
        });
        stop = () => {
          cancel();
          reject(signal.reason);
        };
      }),
    expired: () => limit.left() === 0,
    allow: limit.allow,
    rtt: () => rtt,
    elapsed: () => clock.now() - begun,
    unexpected: () => unexpected,
    newSession: line.newSession,
    renew: line.renew,
    end: () => signal.removeEventListener("abort", abort),
    chance,
  };
}

interface Limit {
  readonly left: () => number;
  readonly allow: (deadline: number) => void;
}

function createLimit(clock: Timers, deadline: number): Limit {
  let until = clock.now() + deadline;
  return {
    /** Whole milliseconds count: a timer may end a little early. */
    left: () => {
      const more = until - clock.now();
      return more < 1 ? 0 : more;
    },
    allow: (more) => {
      until = clock.now() + more;
    },
  };
}

/**
 * Carries one exchange over the line.
 *
 * @param over is called once: with the answer and, after a single sending, the milliseconds it took;
 *   with null when nothing came
 * @returns gives it up, as if nothing had come
 */
function carry<T>(
  line: Line,
  clock: Timers,
  limit: Limit,
  { make, waits, accept, stray }: Exchange<T> & { readonly stray: () => void },
  over: (answer: T | null, took: number | null) => void,
): () => void {
  let sending = -1;
  let sent = 0;
  let cancel = nothing;
  const end = (answer: T | null, took: number | null): void => {
    cancel();
    line.receive(null);
    over(answer, took);
  };
  const send = (): void => {
    sending += 1;
    sent = clock.now();
    const delay = Math.min(waits[sending] ?? 0, limit.left());
    if (delay > 0) {
      cancel = clock.after(delay, send);
      line.send(make(sending));
    } else end(null, null);
  };
  line.receive((datagram) => {
    const answer = accept(datagram);
    if (answer === null) stray();
    else end(answer, sending === 0 ? clock.now() - sent : null);
  });
  send();
  return () => end(null, null);
}

/** Node keeps a list of timers for each length, and sorts the lists: a fleet shares a few. */
function coarse(delay: number): number {
  return delay < COARSE ? delay : Math.ceil(delay / COARSE) * COARSE;
}
const COARSE = 50;

export const SYSTEM_CLOCK: Timers = {
  now: () => performance.now(),
  date: () => new Date(),
  after: (delay, run) => {
    const timer = setTimeout(run, coarse(delay));
    return () => clearTimeout(timer);
  },
};

const POOL = 4096;

/**
 * The system's random bytes, a page of them at a time: a session wants 16 bytes five times, and
 * each call of the system's costs as much as one for all. What was given away is wiped here.
 *
 * @returns gives `length` bytes, at most 4096
 */
export function createRandom(): (length: number) => Buffer {
  const pool = Buffer.alloc(POOL);
  let at = POOL;
  return (length) => {
    if (length > POOL) throw new RangeError(`at most ${POOL} bytes`);
    if (at + length > POOL) {
      randomFillSync(pool);
      at = 0;
    }
    const given = Buffer.from(pool.subarray(at, at + length));
    pool.fill(0, at, at + length);
    at += length;
    return given;
  };
}

export const SYSTEM_CHANCE: Chance = {
  bytes: createRandom(),
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
};
