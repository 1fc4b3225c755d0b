import type { PlannedMachine } from "../../model/plan.ts";
import type { Choice } from "./choice.ts";
import {
  accepted,
  instanceOn,
  lifeFaults,
  placeFaults,
  strangersOn,
  type TenantsNow,
} from "./placed.ts";

/** A deployment in flight is one Nova is working on: one word stands for both. */
function isBusyAccepted(line: PlannedMachine): boolean {
  return accepted(line, "N2I-D206") || accepted(line, "N2I-D100");
}

/**
 * What Nova says by now of machines that are still to be loaded, and did not say when they were
 * planned. Rows that the plan changes are compared as such; these are the others: a machine that got
 * a tenant since would be loaded free, and given to the next one.
 *
 * @param loading whether the machine at this position of the plan is loaded for the first time
 */
export async function* changedTenants(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  loading: (position: number) => boolean,
  { instancesOf, onNodes, nova }: TenantsNow,
  choice: Choice,
): AsyncGenerator<string> {
  let from = 0;
  for await (const batch of machines) {
    const first = from;
    const lines = batch.filter(({ verdict }, at) => verdict === "create" && loading(first + at));
    from += batch.length;
    const there = await onNodes(lines.flatMap(({ uuid }) => uuid ?? []));
    const rows = await instancesOf(lines.flatMap((line) => instanceOn(line) ?? []));
    for (const line of lines) {
      const planned = instanceOn(line);
      const where = `bm_nodes.id=${line.bm_node_id}`;
      const row = rows.get(planned?.toLowerCase() ?? "");
      const kept = choice.of(line) === null;
      const busy = isBusyAccepted(line) ? null : (row?.task_state ?? null);
      const faults = [
        ...(planned === null ? [] : lifeFaults(line, row)),
        ...(kept ? placeFaults(line, row, choice, nova) : []),
        ...(busy === null ? [] : [`task_state is ${busy}`]),
      ];
      for (const fault of faults) yield `${where} instance ${planned} ${fault}`;
      for (const { uuid: other } of strangersOn(line, there))
        yield `${where} is planned with ${planned ?? "no instance"}, and instance ${other} is on it`;
    }
  }
}
