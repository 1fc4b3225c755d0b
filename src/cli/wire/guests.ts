import { SYSTEM_CLOCK } from "../../edge/ipmi/native.ts";
import { unasked } from "../../edge/ipmi/reading.ts";
import type { HostConfig } from "../../model/machine.ts";
import type { PowerReading } from "../../model/power.ts";
import type { Asking } from "./asking.ts";
import type { Guest } from "./questions.ts";

/** Asks the virtualisation hosts about their guests, one host after the other. */
export async function* askGuests(
  guests: ReadonlyMap<HostConfig, readonly Guest[]>,
  _asking: Asking,
): AsyncGenerator<PowerReading> {
  for (const [host, machines] of guests)
    for (const { bm_node_id } of machines)
      yield unasked(
        { bm_node_ids: [bm_node_id], address: host.virtual_power_ssh_host ?? "" },
        { date: SYSTEM_CLOCK.date(), client: null },
        { verdict: "virtual", detail: "not asked" },
      );
}
