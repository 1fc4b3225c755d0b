import { setTimeout as sleep } from "node:timers/promises";

interface Tried {
  readonly status: number;
}

/** Milliseconds between tries of a read. */
const PAUSES = [250, 500, 1000, 2000, 4000, 4000];

/** A temporary failure, after which a read can be repeated. */
export function isPassing({ status }: Tried): boolean {
  return status === 0 || status >= 500 || status === 429;
}

/** Duration of a try in milliseconds from which the service counts as silent. */
const SILENT_MS = 30_000;

interface Asking {
  /** Replaces the default, for downloads. */
  readonly silent?: number;
  readonly now?: () => number;
}

/** Repeats a read for about twelve seconds plus the calls' limits, or once on a silent service. */
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

/** About 30 seconds in all. */
export const TRIES = 18;
const FIRST_MS = 100;
const LONGEST_MS = 2000;

let pace = 1;

/** For tests: multiplies all pauses. */
export function pauseShorter(factor: number): void {
  pace = factor;
}

/**
 * Waits longer before each try, up to the maximum of Ironic's client, with jitter against lockstep.
 */
export async function pause(tries: number): Promise<void> {
  await rest(Math.min(LONGEST_MS, FIRST_MS * 1.6 ** tries) * (0.8 + 0.4 * Math.random()));
}

/** About 15 minutes in all. */
const READS = 450;

/** @param read gives undefined while a service works @returns undefined if it does not end */
export async function polled<T>(read: (tries: number) => Promise<T | undefined>) {
  for (let tries = 0; tries < READS; tries += 1) {
    const found = await read(tries);
    if (found !== undefined) return found;
    await pause(tries);
  }
  return undefined;
}

export async function rest(milliseconds: number): Promise<void> {
  await sleep(pace * milliseconds);
}

/**
 * Unknown outcome, server failure, no free worker (503), or a temporary conflict (409: locked).
 *
 * @source facts/ironic.md 4.4
 */
export function mayPass({ status }: Tried): boolean {
  return status === 0 || status === 409 || status === 429 || status >= 500;
}
