import { MigrationError } from "../../lib/error.ts";
import type { MachineOf } from "../../model/power.ts";
import { openSnapshot, SNAPSHOT } from "../../run/run.ts";
import { machineOf } from "./machine-names.ts";

type Lines = AsyncIterator<readonly (readonly [number, MachineOf])[]>;

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
    return snapshot === null ? nothing() : machines(snapshot.lines());
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

/** After an unreadable line, no more machines are known. */
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
