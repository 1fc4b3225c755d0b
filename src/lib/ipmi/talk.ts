import { randomFillSync, randomInt } from "node:crypto";
import { performance } from "node:perf_hooks";

/** Datagrams to and from one BMC. */
export interface Line {
  /** A datagram may be lost. `fault` reports a failed send. */
  readonly send: (datagram: Buffer) => void;
  /** Sets the handler of received datagrams. Null for none. */
  readonly receive: (handler: ((datagram: Buffer) => void) | null) => void;
  /** Changes the local port if possible. Some BMCs ignore a second login from the first port. */
  readonly renew: () => Promise<void>;
  /** A new session id, not 0, unique in this process. */
  readonly newSession: () => number;
  /**
   * Error of the system (`ENETUNREACH`), or of the peer's system (`ECONNREFUSED`: the port is
   * closed), which is known only after `renew`.
   */
  readonly fault: () => string | null;
}

export interface Timers {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Wall-clock time, for display. */
  readonly date: () => Date;
  /** Calls `run` once after `delay` milliseconds. @returns a function that cancels it */
  readonly after: (delay: number, run: () => void) => () => void;
}

export interface Chance {
  readonly bytes: (length: number) => Buffer;
  /** At least 0, below 1. */
  readonly fraction: () => number;
}

/** Time limit and abort signal. */
export interface Limits {
  /** Milliseconds from now, for all waits together. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

interface Exchange<T> {
  readonly make: (sending: number) => Buffer;
  readonly waits: readonly number[];
  readonly accept: (datagram: Buffer) => T | null;
}

/** Exchanges with one BMC within its deadline. One at a time. */
export interface Talk {
  /**
   * Sends the datagram of `make` once for each of `waits`, until `accept` returns an answer.
   * @param waits milliseconds after each send
   * @param accept null for a late, foreign or invalid datagram
   * @param ending continue for two seconds after an abort, to close a session
   * @returns null without an answer in time
   * @throws the signal's reason if aborted, unless `ending`
   */
  readonly exchange: <T>(
    make: Exchange<T>["make"],
    waits: Exchange<T>["waits"],
    accept: Exchange<T>["accept"],
    ending?: boolean,
  ) => Promise<T | null>;
  /** Sends without waiting. */
  readonly tell: (datagram: Buffer) => void;
  readonly pause: (delay: number) => Promise<void>;
  /** Whether the deadline has passed. */
  readonly expired: () => boolean;
  /** Sets a new deadline in milliseconds from now. */
  readonly allow: (deadline: number) => void;
  /** Milliseconds of the fastest exchange without a resend. */
  readonly rtt: () => number | null;
  readonly elapsed: () => number;
  /** Number of datagrams that were not an answer. */
  readonly unexpected: () => number;
  readonly newSession: () => number;
  readonly renew: () => Promise<void>;
  /** Removes the listener of the signal. No exchange may follow. */
  readonly end: () => void;
  readonly chance: Chance;
}

/** Milliseconds for the last answer after an abort. */
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
  /** Ends the current wait. */
  let stop = nothing;
  const abort = (): void => stop();
  // One listener for all waits, because ten thousand BMCs wait ten times each.
  signal.addEventListener("abort", abort);
  return {
    // One promise and one timer at a time, because a fleet spends its time and memory here.
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
    /** Whole milliseconds, because a timer may end early. */
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
 * Runs one exchange.
 * @param over called once with the answer and, without a resend, its milliseconds. Null without an
 *   answer
 * @returns a function that ends it without an answer
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

/** Node keeps a sorted list of timers for each duration, so a fleet shares a few durations. */
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
 * Random bytes from a pool of one page. A session needs 16 bytes five times, and a system call
 * costs the same for a page. Used bytes are wiped.
 * @returns a source of up to 4096 bytes
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
