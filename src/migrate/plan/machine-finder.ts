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

type Lines = ReturnType<typeof namesIn>;

/** Restarts of the snapshot before all of it is cached, for lists that are not in its order. */
const RESTARTS = 3;

/**
 * Finds machines in a run's snapshot by bm_nodes.id. It reads ahead lazily in the order of lists,
 * one batch at a time. Returns null if the machine or snapshot is missing.
 */
export function machineFinder(run: string) {
  let [lines, restarts, last]: [Lines | null, number, number] = [null, 0, -1];
  let near = new Map<number, MachineOf>();
  // The highest id read so far. A snapshot is in the order of ids.
  let [complete, top] = [false, -1];
  const begin = async (): Promise<Lines> => {
    // Names are optional, so a failure is ignored.
    const snapshot = await openSnapshot(`${run}/${SNAPSHOT}`).catch((cause: unknown) => {
      if (!(cause instanceof MigrationError)) throw cause;
      return null;
    });
    return namesIn(snapshot);
  };
  const read = async (id: number): Promise<void> => {
    lines ??= await begin();
    while (complete || top < id) {
      const next = await lines.next().catch(unread);
      if (next.done === true) return;
      top = next.value.at(-1)?.[0] ?? top;
      if (!complete) near = new Map();
      for (const [of, machine] of next.value) near.set(of, machine);
    }
  };
  const find = async (id: number): Promise<MachineOf | null> => {
    if (!near.has(id) && !complete) {
      if (id < last) {
        restarts += 1;
        complete = restarts > RESTARTS;
        await lines?.return(undefined);
        [lines, near, top] = [null, new Map(), -1];
      }
      await read(id);
      last = id;
    }
    return near.get(id) ?? null;
  };
  return { find, close: async () => void (await lines?.return(undefined)) };
}

/** After an unreadable line, no more machines are known. */
function unread(cause: unknown): IteratorReturnResult<undefined> {
  if (!(cause instanceof MigrationError)) throw cause;
  return { done: true, value: undefined };
}
