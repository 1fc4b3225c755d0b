import { randomBytes } from "node:crypto";
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

/** Milliseconds for the last answer after an abort. */
const ENDING = 2000;

const nothing = (): void => undefined;

/** Exchanges with one BMC within its deadline. One at a time. */
export type Talk = ReturnType<typeof startTalk>;

export function startTalk(line: Line, clock: Timers, chance: Chance, { deadline, signal }: Limits) {
  const time = startDeadline(clock, deadline);
  let rtt: number | null = null;
  let unexpected = 0;
  /** Ends the current wait. */
  let stop = nothing;
  const abort = (): void => stop();
  // One listener for all waits, because ten thousand BMCs wait ten times each.
  signal.addEventListener("abort", abort);
  return {
    /**
     * Sends the datagram of `make` once for each of `waits`, until `accept` returns an answer.
     * One promise and one timer at a time, because a fleet spends its time and memory here.
     * @param waits milliseconds after each send
     * @param accept null for a late, foreign or invalid datagram
     * @param ending continue for two seconds after an abort, to close a session
     * @returns null without an answer in time
     * @throws the signal's reason if aborted, unless `ending`
     */
    exchange: <T>(
      make: (sending: number) => Buffer,
      waits: readonly number[],
      accept: (datagram: Buffer) => T | null,
      ending = false,
    ) =>
      new Promise<T | null>((resolve, reject) => {
        if (signal.aborted && !ending) return reject(signal.reason);
        let [sending, sent] = [-1, 0];
        let [cancel, unlimit] = [nothing, nothing];
        const end = (answer: T | null): void => {
          cancel();
          unlimit();
          stop = nothing;
          line.receive(null);
          resolve(answer);
        };
        stop = () => {
          if (ending) unlimit = clock.after(ENDING, () => end(null));
          else {
            reject(signal.reason);
            end(null);
          }
        };
        line.receive((datagram) => {
          const answer = accept(datagram);
          if (answer === null) unexpected += 1;
          else {
            if (sending === 0) rtt = Math.min(rtt ?? Infinity, clock.now() - sent);
            end(answer);
          }
        });
        const send = (): void => {
          sending += 1;
          sent = clock.now();
          const delay = Math.min(waits[sending] ?? 0, time.remaining());
          if (delay > 0) {
            cancel = clock.after(delay, send);
            line.send(make(sending));
          } else end(null);
        };
        send();
      }),
    /** Sends without waiting. */
    send: line.send,
    pause: (delay: number) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const cancel = clock.after(Math.min(delay, time.remaining()), () => {
          stop = nothing;
          resolve();
        });
        stop = () => {
          cancel();
          reject(signal.reason);
        };
      }),
    ...time,
    /** Milliseconds of the fastest exchange without a resend. */
    rtt: () => rtt,
    /** Number of datagrams that were not an answer. */
    unexpected: () => unexpected,
    newSession: line.newSession,
    renew: line.renew,
    /** Removes the listener of the signal. No exchange may follow. */
    end: () => signal.removeEventListener("abort", abort),
    chance,
  };
}

function startDeadline(clock: Timers, deadline: number) {
  const startedAt = clock.now();
  let until = startedAt + deadline;
  /** Whole milliseconds, because a timer may end early. */
  const remaining = (): number => {
    const more = until - clock.now();
    return more < 1 ? 0 : more;
  };
  return {
    remaining,
    /** Whether the deadline has passed. */
    expired: () => remaining() === 0,
    /** Sets a new deadline in milliseconds from now. */
    allow(more: number): void {
      until = clock.now() + more;
    },
    elapsed: () => clock.now() - startedAt,
  };
}

export const SYSTEM_CLOCK: Timers = {
  now: () => performance.now(),
  date: () => new Date(),
  after: (delay, run) => {
    const timer = setTimeout(run, delay);
    return () => clearTimeout(timer);
  },
};

export const SYSTEM_CHANCE: Chance = { bytes: randomBytes, fraction: Math.random };
