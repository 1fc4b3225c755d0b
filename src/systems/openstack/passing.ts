import { setTimeout as sleep } from "node:timers/promises";

/** What became of a try; 0: nobody knows. */
interface Tried {
  readonly status: number;
}

/** Milliseconds between the tries of a question. */
const PAUSES = [250, 500, 1000, 2000, 4000, 4000];

/** Nobody answered, or not with what was asked for: a question may be put again. */
export function isPassing({ status }: Tried): boolean {
  return status === 0 || status >= 500 || status === 429;
}

/** Milliseconds from which a try says that a service is silent. */
const SILENT_MS = 30_000;

interface Asking {
  /** Milliseconds from which a try counts as one of a silent service: a download takes its time. */
  readonly silent?: number;
  /** Milliseconds. */
  readonly now?: () => number;
}

/**
 * Puts a question until it is answered, for about twelve seconds and the calls' own time limits; to a service that is
 * silent, twice.
 */
export async function askUntilAnswered<T extends Tried>(
  put: () => Promise<T>,
  { silent = SILENT_MS, now = () => performance.now() }: Asking = {},
): Promise<T> {
  let waited = false;
  for (const wait of PAUSES) {
    const began = now();
    const answer = await put();
    const isLong = now() - began >= silent;
    if (!isPassing(answer) || (isLong && waited)) return answer;
    waited ||= isLong;
    await rest(wait);
  }
  return put();
}

/** Tries of a call the service is not ready for: about half a minute in all. */
export const TRIES = 18;
const FIRST_MS = 100;
const LONGEST_MS = 2000;

let pace = 1;

/** For tests of what comes after a pause: all of them are this many times as long. */
export function pauseShorter(factor: number): void {
  pace = factor;
}

/**
 * Waits before the next try; longer each time, up to what Ironic's own client waits. Whoever waits for the same lock
 * does not come back at the same moment.
 */
export async function pause(tries: number): Promise<void> {
  await rest(Math.min(LONGEST_MS, FIRST_MS * 1.6 ** tries) * (0.8 + 0.4 * Math.random()));
}

/** Waits so many milliseconds, which only a test shortens. */
export async function rest(milliseconds: number): Promise<void> {
  await sleep(pace * milliseconds);
}

/**
 * Whether a call may be made again once somebody looked: nobody knows if it was done, the server
 * failed, had no free worker (503), or something is in its way for now (409: locked).
 *
 * @source facts/ironic.md 4.4
 */
export function mayPass({ status }: Tried): boolean {
  return status === 0 || status === 409 || status === 429 || status >= 500;
}
