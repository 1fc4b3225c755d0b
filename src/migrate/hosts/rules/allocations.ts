import { textOrNull } from "../../../lib/json.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../../model/plan.ts";
import { customClass } from "../../flavors/rules/flavors.ts";
import type { NovaNow } from "./computes.ts";
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

export interface AllocationsNow extends Pick<NovaNow, "instancesOf"> {
  readonly allocatedOf: NonNullable<NovaNow["allocatedOf"]>;
}

/** Live instances without an allocation, which nothing else reports. */
export async function* auditAllocations(
  batch: readonly PlannedMachine[],
  { instancesOf, allocatedOf }: AllocationsNow,
) {
  const lines = batch.filter(isLoaded);
  const uuids = lines.flatMap((line) => instanceOn(line) ?? []);
  const rows = await instancesOf(uuids);
  const allocated = await allocatedOf(uuids);
  for (const line of lines) {
    const instance = instanceOn(line)?.toLowerCase() ?? "";
    const row = rows.get(instance);
    if (row === undefined || (row.deleted ?? 0) !== 0 || allocated.has(instance)) continue;
    const name = textOrNull(nodeOf(line.records)?.resource_class);
    yield { machine: line.uuid, instance, resource_class: name && customClass(name) };
  }
}
