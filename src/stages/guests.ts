import { setMaxListeners } from "node:events";
import { askVirtual } from "../edge/virsh/ask.ts";
import type { PowerReading } from "../model/power.ts";
import type { Guests, LeftOut } from "./questions.ts";

/** Hosts asked at the same time: a process each. */
const AT_ONCE = 16;

/** Asks the virtualisation hosts about their guests, one connection a host, the hosts beside each other. */
export async function* askGuests(
  { guests }: LeftOut,
  { deadline = 60_000, signal }: { readonly deadline?: number; readonly signal: AbortSignal },
): AsyncGenerator<PowerReading> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  setMaxListeners(0, either);
  const options = { deadline, signal: either, now: () => new Date() };
  const waiting = [...guests.values()];
  const running = new Map<Guests, Promise<readonly [Guests, readonly PowerReading[]]>>();
  const begin = (one: Guests): void => {
    const asking = askVirtual(one.host, one.machines, one.password, options);
    const named = asking.then((readings) => [one, readings] as const);
    running.set(one, named);
  };
  try {
    for (;;) {
      for (const one of waiting.splice(0, signal.aborted ? 0 : AT_ONCE - running.size)) begin(one);
      if (running.size === 0) return;
      const [one, readings] = await Promise.race(running.values());
      running.delete(one);
      yield* readings;
    }
  } catch (error) {
    // Stopped on request: what is not asked yet is asked by the next run.
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    await Promise.allSettled(running.values());
  }
}
