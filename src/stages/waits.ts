import { setTimeout as sleep } from "node:timers/promises";
import { surroundings } from "./surroundings.ts";

/** Milliseconds since some moment; never goes back. */
export function now(): number {
  const { clock = performance } = surroundings();
  return clock.now();
}

/** Waits so many milliseconds of the same clock. */
export async function rest(milliseconds: number): Promise<void> {
  const { clock } = surroundings();
  if (clock === undefined) await sleep(milliseconds);
  else await new Promise<void>((resolve) => void clock.after(milliseconds, resolve));
}
