import type { Machine } from "../../model/machine.ts";
import type { MachineOf } from "../../model/power.ts";
import type { openSnapshot } from "../../run/run.ts";

/** @param wanted bm_nodes.ids. Null: all */
export async function machinesOf(
  snapshot: Awaited<ReturnType<typeof openSnapshot>>,
  wanted: ReadonlySet<number> | null,
): Promise<ReadonlyMap<number, MachineOf>> {
  const found = new Map<number, MachineOf>();
  if (wanted?.size === 0) return found;
  for await (const batch of snapshot.lines())
    for (const line of batch) {
      if ("orphan" in line || wanted?.has(line.node.id) === false) continue;
      found.set(line.node.id, machineOf(line));
    }
  return found;
}

/** The names of a machine for people. */
export function machineOf({ node, nova }: Pick<Machine, "node" | "nova">): MachineOf {
  const { uuid, pm_address: address, service_host: host, instance_uuid: instance } = node;
  const name = nova?.instance?.display_name ?? node.instance_name;
  return { uuid, name, address, host, instance };
}
