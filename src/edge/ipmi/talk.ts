import type { Chance, Clock, Line } from "./line.ts";

/** Questions and answers with one BMC, within its deadline. */
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
    make: (sending: number) => Buffer,
    waits: readonly number[],
    accept: (datagram: Buffer) => T | null,
    ending?: boolean,
  ) => Promise<T | null>;
  /** Sends and does not wait. */
  readonly tell: (datagram: Buffer) => void;
  readonly pause: (delay: number) => Promise<void>;
  /** Whether the deadline is over. */
  readonly expired: () => boolean;
  /** Milliseconds of the fastest exchange that needed one sending only. */
  readonly rtt: () => number | null;
  readonly elapsed: () => number;
  /** Datagrams that were no answer. */
  readonly strays: () => number;
  readonly newSession: () => number;
  /** The next datagrams leave from another local port. */
  readonly renew: () => Promise<void>;
  /** Listens to the signal no more; nothing may be asked after it. */
  readonly end: () => void;
  readonly chance: Chance;
}

/** Milliseconds from when all is to stop until the last answer is waited for. */
const ENDING = 2000;

/** @param deadline milliseconds from now; every wait ends then */
export function startTalk(
  line: Line,
  clock: Clock,
  chance: Chance,
  { deadline, signal }: { readonly deadline: number; readonly signal: AbortSignal },
): Talk {
  const begun = clock.now();
  /** Whole milliseconds count: a timer may end a little early. */
  const left = (): number => {
    const more = begun + deadline - clock.now();
    return more < 1 ? 0 : more;
  };
  let rtt: number | null = null;
  let strays = 0;
  /** Ends the wait that is going on. */
  let stop: (() => void) | null = null;
  const abort = (): void => stop?.();
  // One listener for all waits: ten thousand BMCs wait ten times each.
  signal.addEventListener("abort", abort);

  return {
    // One promise and one timer at a time: this is where a fleet's time and memory go.
    exchange: (make, waits, accept, ending = false) =>
      new Promise((resolve, reject) => {
        if (signal.aborted && !ending) return reject(signal.reason);
        let sending = -1;
        let sent = 0;
        let cancel = (): void => undefined;
        let unlimit = (): void => undefined;
        const end = (): void => {
          cancel();
          unlimit();
          line.receive(null);
          stop = null;
        };
        const finish = (): void => {
          end();
          resolve(null);
        };
        const send = (): void => {
          sending += 1;
          sent = clock.now();
          const delay = Math.min(waits[sending] ?? 0, left());
          if (delay <= 0) {
            finish();
            return;
          }
          cancel = clock.after(delay, send);
          line.send(make(sending));
        };
        stop = () => {
          if (ending) {
            unlimit = clock.after(ENDING, finish);
            return;
          }
          end();
          reject(signal.reason);
        };
        line.receive((datagram) => {
          const found = accept(datagram);
          if (found === null) {
            strays += 1;
            return;
          }
          if (sending === 0) rtt = Math.min(rtt ?? Infinity, clock.now() - sent);
          end();
          resolve(found);
        });
        send();
      }),
    tell: line.send,
    pause: (delay) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const cancel = clock.after(Math.min(delay, left()), () => {
          stop = null;
          resolve();
        });
        stop = () => {
          cancel();
          reject(signal.reason);
        };
      }),
    expired: () => left() === 0,
    rtt: () => rtt,
    elapsed: () => clock.now() - begun,
    strays: () => strays,
    newSession: line.newSession,
    renew: line.renew,
    end: () => signal.removeEventListener("abort", abort),
    chance,
  };
}
