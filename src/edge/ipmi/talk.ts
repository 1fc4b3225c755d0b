import type { Chance, Clock, Line } from "./line.ts";

/** Questions and answers with one BMC, within its deadline. */
export interface Talk {
  /**
   * Sends what `make` gives, once for each of `waits`, until `accept` finds an answer in a datagram.
   *
   * @param waits milliseconds to wait after each sending
   * @param accept null for a datagram that is not the answer: late, foreign, or garbage
   * @returns null when nothing came in time
   * @throws the signal's reason when it is aborted
   */
  readonly exchange: <T>(
    make: (sending: number) => Buffer,
    waits: readonly number[],
    accept: (datagram: Buffer) => T | null,
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
  readonly chance: Chance;
}

/** @param deadline milliseconds from now; every wait ends then */
export function startTalk(
  line: Line,
  clock: Clock,
  chance: Chance,
  { deadline, signal }: { readonly deadline: number; readonly signal: AbortSignal },
): Talk {
  const begun = clock.now();
  const left = (): number => Math.max(0, begun + deadline - clock.now());
  let rtt: number | null = null;
  let strays = 0;

  const wait = <T>(delay: number, arm: (done: (value: T) => void) => void): Promise<T | null> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const end = (): void => {
        cancel();
        line.receive(null);
        signal.removeEventListener("abort", abort);
      };
      const done = (value: T | null): void => {
        end();
        resolve(value);
      };
      const abort = (): void => {
        end();
        reject(signal.reason);
      };
      const cancel = clock.after(Math.min(delay, left()), () => done(null));
      signal.addEventListener("abort", abort, { once: true });
      arm(done);
    });

  return {
    async exchange(make, waits, accept) {
      for (const [sending, delay] of waits.entries()) {
        if (left() === 0) return null;
        const sent = clock.now();
        const answer = await wait<NonNullable<ReturnType<typeof accept>>>(delay, (done) => {
          line.receive((datagram) => {
            const found = accept(datagram);
            if (found === null || found === undefined) {
              strays += 1;
              return;
            }
            if (sending === 0) rtt = Math.min(rtt ?? Infinity, clock.now() - sent);
            done(found);
          });
          line.send(make(sending));
        });
        if (answer !== null) return answer;
      }
      return null;
    },
    tell: line.send,
    async pause(delay) {
      await wait(delay, () => undefined);
    },
    expired: () => left() === 0,
    rtt: () => rtt,
    elapsed: () => clock.now() - begun,
    strays: () => strays,
    newSession: line.newSession,
    chance,
  };
}
