import type { MachineOf } from "../model/power.ts";
import { gatherGroups, groupLines, SCREENFUL } from "./groups.ts";

/** A thing that something became of, as a line and as one of many. */
interface Thing {
  readonly text: string;
  readonly cause: string;
  readonly bm_node_id?: number;
}

/** What people know a machine by, in an example. */
export function exampleOf(machine: MachineOf | null): readonly string[] {
  if (machine === null) return [];
  const { uuid, name, address, host, instance } = machine;
  return [uuid, name, address, host, instance].map((cell) => cell ?? "");
}

/**
 * Lines of `what`, a thing each; more than a screenful by cause, with machines as examples.
 *
 * @param all every thing, however many there are
 * @param width columns of the screen
 */
export async function severalLines(
  what: string,
  things: AsyncIterable<Thing> | Iterable<Thing>,
  find: (bm_node_id: number) => Promise<MachineOf | null>,
  { all, width }: { readonly all: boolean; readonly width: number | undefined },
): Promise<readonly string[]> {
  const gathered = gatherGroups();
  const lines: string[] = [];
  let count = 0;
  for await (const { text, cause, bm_node_id } of things) {
    count += 1;
    if (all || count <= SCREENFUL) lines.push(`${what}: ${text}`);
    if (all) continue;
    const machine = bm_node_id === undefined ? null : await find(bm_node_id);
    gathered.add(cause, machine === null ? [text] : exampleOf(machine));
  }
  if (all || count <= SCREENFUL) return lines;
  return [`${what}: ${count}, by cause. Every one: --all-rows.`, ...groupLines(gathered, width)];
}
