import type { PowerQuestion, PowerReading } from "../../model/power.ts";
import type { Verdict } from "./verdicts.ts";

/** A reading of a BMC of which nothing is known but the verdict. */
export function unasked(
  { bm_node_ids, address }: Pick<PowerQuestion, "bm_node_ids" | "address">,
  begun: { readonly date: Date; readonly client: PowerReading["client"] },
  { verdict, detail }: Verdict,
): PowerReading {
  return {
    bm_node_ids,
    address,
    client: begun.client,
    power: null,
    verdict,
    detail,
    suite: null,
    suites: null,
    kg: null,
    privilege: null,
    device: null,
    manufacturer: null,
    firmware: null,
    attempts: 0,
    pass: 1,
    rtt: null,
    elapsed: 0,
    asked_at: begun.date.toISOString(),
    warnings: [],
    advice: [],
  };
}
