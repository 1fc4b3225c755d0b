import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./session.ts";

/** Tries of a call the service is not ready for: about half a minute in all. */
export const TRIES = 18;
const FIRST_MS = 100;
const LONGEST_MS = 2000;

/** Waits before the next try; longer each time, up to what Ironic's own client waits. */
export async function pause(tries: number): Promise<void> {
  await sleep(Math.min(LONGEST_MS, FIRST_MS * 1.6 ** tries));
}

/**
 * Whether a call may be made again once somebody looked: nobody knows if it was done, the server
 * failed, had no free worker (503), or something is in its way for now (409: locked).
 *
 * @source facts/ironic.md 4.4
 */
export function mayPass({ status }: Answer): boolean {
  return status === 0 || status === 409 || status === 429 || status >= 500;
}
