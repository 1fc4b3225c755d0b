import { MigrationError } from "../../lib/error.ts";
import type { MachineOf } from "../../model/power.ts";
import { openSnapshot, SNAPSHOT } from "../../run/run.ts";
import { machineOf } from "./selection.ts";

type Lines = AsyncIterator<readonly (readonly [number, MachineOf])[]>;

interface MachineFinder {
  readonly find: (bm_node_id: number) => Promise<MachineOf | null>;
  /** The snapshot may be read in part. */
  readonly close: () => Promise<void>;
}

/** Looks back in the snapshot before all of it is held: what is listed backwards would read it for each row. */
const RESTARTS = 3;

/**
 * Finds what machines are in a run's snapshot, by bm_nodes.id. It reads along, as lists have their order, and
 * holds a batch; nothing is read before it is asked. Null for a machine, or a snapshot, that is not there.
 */
export function machineFinder(run: string): MachineFinder {
  let [lines, restarts, last]: [Lines | null, number, number] = [null, 0, -1];
  let near = new Map<number, MachineOf>();
  // The highest id read so far: a snapshot is in the order of ids.
  let [whole, top] = [false, -1];
  const begin = async (): Promise<Lines> => {
    // What a machine is called is beside what is listed: nothing fails for it.
    const snapshot = await openSnapshot(`${run}/${SNAPSHOT}`).catch((cause: unknown) => {
      if (!(cause instanceof MigrationError)) throw cause;
      return null;
    });
    return snapshot === null ? nothing() : machines(snapshot.lines());
  };
  const read = async (id: number): Promise<void> => {
    lines ??= await begin();
    while (whole || top < id) {
      const next = await lines.next().catch(unread);
      if (next.done === true) return;
      top = next.value.at(-1)?.[0] ?? top;
      if (!whole) near = new Map();
      for (const [of, machine] of next.value) near.set(of, machine);
    }
  };
  const find: MachineFinder["find"] = async (id) => {
    if (!near.has(id) && !whole) {
      if (id < last) {
        restarts += 1;
        whole = restarts > RESTARTS;
        await lines?.return?.();
        [lines, near, top] = [null, new Map(), -1];
      }
      await read(id);
      last = id;
    }
    return near.get(id) ?? null;
  };
  return { find, close: async () => void (await lines?.return?.()) };
}

/** A line that cannot be read ends what is known. */
function unread(cause: unknown): IteratorReturnResult<undefined> {
  if (!(cause instanceof MigrationError)) throw cause;
  return { done: true, value: undefined };
}

async function* nothing(): AsyncGenerator<never> {}

async function* machines(
  batches: ReturnType<Awaited<ReturnType<typeof openSnapshot>>["lines"]>,
): AsyncGenerator<readonly (readonly [number, MachineOf])[]> {
  for await (const batch of batches)
    yield batch.flatMap((line) =>
      "orphan" in line ? [] : [[line.node.id, machineOf(line)] as const],
    );
}
