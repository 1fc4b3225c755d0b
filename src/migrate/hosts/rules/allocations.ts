import type { InstanceRow } from "../../../model/nova/nova-rows.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import { customClass } from "../../flavors/rules/flavors.ts";
import { instanceOn } from "./current-placement.ts";

/**
 * The commands that create a missing allocation. nova-compute reports reserved 1 for a node in use,
 * which prevents allocations. A host that is down gets no other instances.
 * @source facts/rehearsal.md 4, variant H2; each command run on Nova 26.2, Placement 8.0 and
 * osc-placement 4.0
 */
export function heal(machine: string | null = null, resource_class: string | null = null): string {
  const [node, custom] = [machine ?? "MACHINE", resource_class ?? "CUSTOM_CLASS"];
  return `stop nova-compute and wait for service_down_time (60 s); openstack resource provider inventory set ${node} --amend --resource ${custom}:reserved=0; nova-manage placement heal_allocations; start nova-compute`;
}

/** Instances and their allocations, by UUID in lower case. */
export interface AllocationsNow {
  readonly instancesOf: (uuids: readonly string[]) => Promise<ReadonlyMap<string, InstanceRow>>;
  readonly allocatedOf: (uuids: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** Live instances without an allocation, which nothing else reports. */
export async function* auditAllocations(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  { instancesOf, allocatedOf }: AllocationsNow,
) {
  for await (const batch of machines) {
    const lines = batch.filter(isLoaded);
    const uuids = lines.flatMap((line) => instanceOn(line) ?? []);
    const rows = await instancesOf(uuids);
    const allocated = await allocatedOf(uuids);
    for (const line of lines) {
      const uuid = instanceOn(line)?.toLowerCase();
      const row = uuid === undefined ? undefined : rows.get(uuid);
      if (uuid === undefined || row === undefined || (row.deleted ?? 0) !== 0) continue;
      if (allocated.has(uuid)) continue;
      yield { machine: line.uuid, instance: uuid, resource_class: classOf(line) };
    }
  }
}

/** `CUSTOM_..`. Null if the machine has none. */
function classOf({ records }: PlannedMachine): string | null {
  const name = nodeOf(records)?.resource_class;
  return typeof name === "string" ? customClass(name) : null;
}
