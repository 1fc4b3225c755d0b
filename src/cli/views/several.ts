import { gatherGroups, groupLines, SCREENFUL } from "../../lib/table/groups.ts";
import type { MachineOf } from "../../model/power.ts";
import type { One } from "../../run/sink.ts";

export function exampleOf(machine: MachineOf | null): readonly string[] {
  if (machine === null) return [];
  const { uuid, name, address, host, instance } = machine;
  return [uuid, name, address, host, instance].map((cell) => cell ?? "");
}

interface How {
  readonly all: boolean;
  readonly width: number | undefined;
  /** Logs the line of each item if not all are shown, for the command that lists them. */
  readonly keep: (line: string) => void;
  readonly every: string | undefined;
}

/** One line per item. Items that do not fit on a screen are grouped by cause, with examples. */
export async function severalLines(
  what: string,
  things: AsyncIterable<One> | Iterable<One>,
  find: (bm_node_id: number) => Promise<MachineOf | null>,
  { all, width, keep, every }: How,
): Promise<readonly string[]> {
  const gathered = gatherGroups();
  const lines: string[] = [];
  let count = 0;
  for await (const { text, cause, bm_node_id } of things) {
    count += 1;
    const line = `${what}: ${text}`;
    if (all || count <= SCREENFUL) lines.push(line);
    if (all) continue;
    if (count === SCREENFUL + 1) lines.forEach(keep);
    if (count > SCREENFUL) keep(line);
    const machine = bm_node_id === undefined ? null : await find(bm_node_id);
    gathered.add(cause, machine === null ? [text] : exampleOf(machine));
  }
  if (all || count <= SCREENFUL) return lines;
  const hint = every === undefined ? [] : [`All: ${every}`];
  return [`${what}: ${count}, by cause.`, ...groupLines(gathered, width), ...hint];
}
