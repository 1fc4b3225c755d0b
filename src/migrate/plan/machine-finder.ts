import { MigrationError } from "../../lib/error.ts";
import type { Machine } from "../../model/machine.ts";
import type { MachineOf } from "../../model/power.ts";
import { openSnapshot, SNAPSHOT } from "../../run/run.ts";

type Snapshot = Awaited<ReturnType<typeof openSnapshot>>;

/** @param requested bm_nodes.ids. Null: all */
export async function machinesOf(
  snapshot: Snapshot,
  requested: ReadonlySet<number> | null,
): Promise<ReadonlyMap<number, MachineOf>> {
  const found = new Map<number, MachineOf>();
  if (requested?.size === 0) return found;
  for await (const batch of namesIn(snapshot))
    for (const [id, machine] of batch) if (requested?.has(id) !== false) found.set(id, machine);
  return found;
}

export function machineOf({ node, nova }: Pick<Machine, "node" | "nova">): MachineOf {
  const { uuid, pm_address: address, service_host: host, instance_uuid: instance } = node;
  const name = nova?.instance?.display_name ?? node.instance_name;
  return { uuid, name, address, host, instance };
}

async function* namesIn(snapshot: Snapshot | null) {
  for await (const batch of snapshot?.lines() ?? [])
    yield batch.flatMap((line) =>
      "orphan" in line ? [] : [[line.node.id, machineOf(line)] as const],
    );
}

/**
 * Finds machines in a run's snapshot by bm_nodes.id, of which it reads no more than is needed.
 * Returns null if the machine or snapshot is missing.
 */
export function machineFinder(run: string) {
  let lines: ReturnType<typeof namesIn> | null = null;
  const found = new Map<number, MachineOf>();
  // The highest id read so far. A snapshot is in the order of ids.
  let top = -1;
  const find = async (id: number): Promise<MachineOf | null> => {
    // Names are optional, so a failure is ignored.
    lines ??= namesIn(await openSnapshot(`${run}/${SNAPSHOT}`).catch(noMore));
    while (top < id) {
      const { value } = (await lines.next().catch(noMore)) ?? {};
      if (value === undefined) break;
      for (const [of, machine] of value) found.set(of, machine);
      top = value.at(-1)?.[0] ?? top;
    }
    return found.get(id) ?? null;
  };
  return { find, close: async () => void (await lines?.return(undefined)) };
}

function noMore(cause: unknown): null {
  if (!(cause instanceof MigrationError)) throw cause;
  return null;
}
