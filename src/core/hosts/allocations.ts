import type { InstanceRow } from "../../model/nova-rows.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { isCarried } from "./keeps.ts";
import { instanceOn } from "./placed.ts";

/**
 * Makes allocations that are missing. nova-compute reports reserved 1 for a node in use, and nothing
 * can be allocated on that.
 *
 * @source facts/rehearsal.md 4, variant H2, run on Nova 26.2
 */
export const HEAL =
  "nova-compute stopped: PUT their inventories with reserved 0, nova-manage placement heal_allocations, start it";

/** What Nova and Placement say of instances, by their uuid in lower case. */
export interface AllocationsNow {
  readonly instancesOf: (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;
  /** Those of them that have an allocation. */
  readonly allocatedOf: (uuids: readonly string[]) => Promise<ReadonlySet<string>>;
}

/**
 * Live instances of machines that have no allocation: nothing complains, and their machine is free to
 * Placement as soon as it is no longer reserved.
 */
export async function* auditAllocations(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  { instancesOf, allocatedOf }: AllocationsNow,
): AsyncGenerator<{ readonly machine: string | null; readonly instance: string }> {
  for await (const batch of machines) {
    const lines = batch.filter(isCarried);
    const uuids = lines.flatMap((line) => instanceOn(line) ?? []);
    const rows = await instancesOf(uuids);
    const allocated = await allocatedOf(uuids);
    for (const line of lines) {
      const uuid = instanceOn(line)?.toLowerCase();
      const row = uuid === undefined ? undefined : rows.get(uuid);
      if (uuid === undefined || row === undefined || (row.deleted ?? 0) !== 0) continue;
      if (!allocated.has(uuid)) yield { machine: line.uuid, instance: uuid };
    }
  }
}
