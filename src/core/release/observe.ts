import type { Handover } from "../../model/handover.ts";
import { judge, type Standing } from "./judge.ts";
import type { Planned, Trouble } from "./release.ts";

export type Standings = { readonly [standing in Standing]: number };

/** Standings an operator has nothing to do about. */
const FINE: ReadonlySet<Standing> = new Set(["done", "held"]);

/**
 * Where each machine of a plan stands on its way to a conductor, looked at once.
 *
 * @param all give those that are handed over, or held by the plan, too
 * @param tally counts every machine
 */
export async function* observe(
  plan: AsyncIterable<readonly Planned[]>,
  handover: Pick<Handover, "observe">,
  tally: { [standing in Standing]: number },
  all: boolean,
): AsyncGenerator<Trouble> {
  for await (const batch of plan) {
    const seen = await handover.observe(batch.map(({ uuid }) => uuid));
    for (const { uuid, bm_node_id, row } of batch) {
      const judged = judge(row, seen.get(uuid));
      tally[judged.standing] += 1;
      if (all || !FINE.has(judged.standing)) yield { ...judged, uuid, bm_node_id };
    }
  }
}

export function noStandings(): { [standing in Standing]: number } {
  return { staged: 0, waiting: 0, done: 0, held: 0, failed: 0, missing: 0 };
}

/** Whether nothing is left to wait for or to do. */
export function isHandedOver({ staged, waiting, failed, missing }: Standings): boolean {
  return staged + waiting + failed + missing === 0;
}
