import type { Ways } from "../core/transform/power-way.ts";
import type { SnapshotLine } from "./../model/machine.ts";
import type { PowerReading } from "../model/power.ts";
import type { Asked } from "./questions.ts";

/** What would be asked of a snapshot's machines, known before the first is asked. */
interface Survey {
  /** bm_nodes.id -> what is asked of it, secrets included, as a digest. */
  readonly digests: ReadonlyMap<number, string>;
  /** Whether several machines are asked in these words. */
  readonly isShared: (words: string) => boolean;
}

export async function survey(
  lines: AsyncIterable<readonly SnapshotLine[]>,
  ways: Ways,
): Promise<Survey> {
  const digests = new Map<number, string>();
  const once = new Set<string>();
  const shared = new Set<string>();
  for await (const { id, way } of asked(lines, ways, () => true)) {
    digests.set(id, way.digest);
    if (way.way !== "ipmi") continue;
    if (once.has(way.words)) shared.add(way.words);
    once.add(way.words);
  }
  return { digests, isShared: (words) => shared.has(words) };
}

/** Machines that are there and that the site document does not leave out, with how they are asked. */
export async function* asked(
  lines: AsyncIterable<readonly SnapshotLine[]>,
  ways: Ways,
  wanted: (id: number) => boolean,
): AsyncGenerator<Asked> {
  for await (const batch of lines)
    for (const line of batch) {
      if ("orphan" in line || !wanted(line.node.id)) continue;
      const way = ways.of(line);
      if (way !== null) yield { id: line.node.id, way };
    }
}

/**
 * Readings that still answer what would be asked now, each of the machines it is true of: after a new
 * extract, or with another site document, only what changed is to be asked again.
 */
export function stillTrue(
  readings: Iterable<PowerReading>,
  { digests }: Pick<Survey, "digests">,
): Map<number, PowerReading> {
  const kept = new Map<number, PowerReading>();
  for (const reading of new Set(readings)) {
    const { bm_node_ids, asked } = reading;
    const at = bm_node_ids.flatMap((id, place) => {
      const digest = digests.get(id);
      return digest !== undefined && asked?.machines[place] === digest ? [place] : [];
    });
    if (asked === undefined || at.length === 0) continue;
    const pick = <T>(all: readonly T[]): readonly T[] =>
      at.flatMap((place) => all.slice(place, place + 1));
    const whole = at.length === bm_node_ids.length;
    const own = whole
      ? reading
      : {
          ...reading,
          bm_node_ids: pick(bm_node_ids),
          asked: { ...asked, machines: pick(asked.machines) },
        };
    for (const id of own.bm_node_ids) kept.set(id, own);
  }
  return kept;
}
