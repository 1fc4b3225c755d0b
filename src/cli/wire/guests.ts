import { askVirtual } from "../../edge/virsh/ask.ts";
import type { PowerReading } from "../../model/power.ts";
import type { Aside } from "./questions.ts";

/** Asks the virtualisation hosts about their guests, one connection a host, one host after the other. */
export async function* askGuests(
  { guests }: Aside,
  { deadline = 60_000, signal }: { readonly deadline?: number; readonly signal: AbortSignal },
): AsyncGenerator<PowerReading> {
  for (const { host, password, machines } of guests.values()) {
    const options = { deadline, signal, now: () => new Date() };
    try {
      yield* await askVirtual(host, machines, password, options);
    } catch (error) {
      // Stopped on request: what is not asked yet is asked by the next run.
      if (signal.aborted) return;
      throw error;
    }
  }
}
