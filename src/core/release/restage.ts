import type { JournalEntry } from "../../model/artefact.ts";
import type { ReleaseEntry } from "../../model/handover.ts";
import { judge } from "./judge.ts";
import { iso, type Planned, type Releasing, type Trouble } from "./release.ts";

export interface Restaged {
  readonly staged: number;
  readonly left: readonly Trouble[];
  readonly stopped: boolean;
}

/** The same without those whose rows a rollback took away after they were released. */
export function stillReleased(
  entries: readonly ReleaseEntry[],
  journal: readonly JournalEntry[],
): ReadonlySet<string> {
  const last = new Map(
    entries.flatMap((entry) => (entry.do === "release" ? [[entry.node, entry.at] as const] : [])),
  );
  const back = journal.flatMap((entry) => (entry.do === "undo" ? [entry] : []));
  const gone = (node: string): boolean =>
    back.some(
      ({ at, nodes }) => at >= (last.get(node) ?? "") && (nodes === "all" || nodes.includes(node)),
    );
  return new Set([...releasedNodes(entries)].filter((node) => !gone(node)));
}

/** The nodes a journal says were released and not taken back since. */
export function releasedNodes(entries: readonly ReleaseEntry[]): ReadonlySet<string> {
  const nodes = new Set<string>();
  for (const entry of entries)
    if (entry.do === "release") nodes.add(entry.node);
    else if (entry.do === "stage") nodes.delete(entry.node);
  return nodes;
}

/**
 * Takes releases back: the machines this run released are put into our maintenance again. What a
 * conductor did meanwhile stays; it does nothing more. Safe to run again.
 */
export async function restage(
  plan: AsyncIterable<readonly Planned[]>,
  { handover, journal, clock, by, stopping, progress }: Releasing,
): Promise<Restaged> {
  const ours = releasedNodes(journal.entries());
  const left: Trouble[] = [];
  let [staged, behind] = [0, 0];
  for await (const batch of plan)
    for (const { uuid, bm_node_id, row } of batch) {
      if (!ours.has(uuid)) continue;
      if (stopping()) return { staged, left, stopped: true };
      if (await handover.stage(uuid)) staged += 1;
      else {
        const judged = judge(row, (await handover.observe([uuid])).get(uuid));
        if (judged.standing !== "staged") {
          const why = judged.why ?? "a conductor is working on it";
          const fix = judged.fix ?? "Run the same command again.";
          left.push({ standing: judged.standing, why, fix, uuid, bm_node_id });
          continue;
        }
      }
      await journal.append({ do: "stage", node: uuid, at: iso(clock.now()), by });
      behind += 1;
      progress(behind);
    }
  return { staged, left, stopped: false };
}
