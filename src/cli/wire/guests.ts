import { askVirtual } from "../../edge/virsh/ask.ts";
import type { HostConfig } from "../../model/machine.ts";
import type { PowerReading } from "../../model/power.ts";
import type { Asking } from "./asking.ts";
import type { Guest } from "./questions.ts";

/** Asks the virtualisation hosts about their guests, one connection a host, one host after the other. */
export async function* askGuests(
  guests: ReadonlyMap<HostConfig, readonly Guest[]>,
  { schedule, seal, signal }: Asking,
): AsyncGenerator<PowerReading> {
  for (const [host, machines] of guests) {
    const sealed = host.virtual_power_host_pass;
    const password = sealed === null ? null : (): string => seal.open(sealed);
    const options = { deadline: schedule.deadline ?? 60_000, signal, now: () => new Date() };
    try {
      yield* await askVirtual(host, machines, password, options);
    } catch (error) {
      // Stopped on request: what is not asked yet is asked by the next run.
      if (signal.aborted) return;
      throw error;
    }
  }
}
