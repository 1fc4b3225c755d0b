import { judge } from "../core/release/judge.ts";
import type { Planned, Trouble } from "../core/release/planned.ts";
import type { MigrationError } from "../model/error.ts";
import { HAND_OVER, type HandoverEntry } from "../model/handover.ts";
import { type Entry, IRONIC } from "../model/journal.ts";
import { iso, type Releasing } from "./hand-over.ts";
import { walk } from "./one-by-one.ts";

export interface Restaged {
  readonly staged: number;
  readonly left: readonly Trouble[];
  readonly stopped: boolean;
  /** As for `Released`. */
  readonly broke: MigrationError | null;
}

/** The nodes this run released, that were not staged again and that no rollback took away since. */
export function stillReleased(entries: readonly Entry[]): ReadonlySet<string> {
  const nodes = new Set<string>();
  for (const entry of entries)
    if (entry.do === "release") nodes.add(entry.node);
    else if (entry.do === "stage" && entry.part === HAND_OVER) nodes.delete(entry.node);
    else if (entry.do === "undo" && entry.part === IRONIC)
      for (const node of entry.nodes === "all" ? [...nodes] : entry.nodes) nodes.delete(node);
  return nodes;
}

/** The nodes this run released and did not stage again since. */
function releasedNodes(entries: readonly HandoverEntry[]): ReadonlySet<string> {
  const nodes = new Set<string>();
  for (const entry of entries)
    if (entry.do === "release") nodes.add(entry.node);
    else nodes.delete(entry.node);
  return nodes;
}

/**
 * Takes releases back: the machines this run released are put into our maintenance again. What a
 * conductor did meanwhile stays; it does nothing more. Safe to run again.
 *
 * @throws MigrationError when something breaks before the first is staged, else as `broke`
 * @param lockWait seconds to wait for conductors' locks
 */
export async function restage(
  plan: AsyncIterable<readonly Planned[]>,
  { handover, journal, clock, by, stopping, progress }: Releasing,
  lockWait: number,
): Promise<Restaged> {
  const ours = releasedNodes(journal.entries());
  const left: Trouble[] = [];
  let [staged, behind] = [0, 0];
  const stage = async ({ uuid, bm_node_id, row }: Planned): Promise<string | null> => {
    if (await handover.stage(uuid)) staged += 1;
    else {
      const seen = (await handover.observe([uuid])).get(uuid);
      const judged = judge(row, seen);
      if (judged.standing !== "staged") {
        if (judged.why === null) return seen?.reservation ?? "a conductor";
        left.push({ ...judged, fix: judged.fix ?? AGAIN, uuid, bm_node_id });
        return null;
      }
    }
    await journal.append({ part: HAND_OVER, do: "stage", node: uuid, at: iso(clock.now()), by });
    behind += 1;
    progress(behind);
    return null;
  };
  const released = async function* (): AsyncGenerator<readonly Planned[]> {
    for await (const batch of plan) yield batch.filter(({ uuid }) => ours.has(uuid));
  };
  const walking = { clock, stopping, lockWait, inFlight: 1 };
  const walked = await walk(released(), "release --undo", walking, stage, () => ({
    ...{ behind, changed: staged },
  }));
  left.push(...walked.locked.map(([node, holder]) => lockedOut(node, holder)));
  return { staged, left, stopped: walked.stopped, broke: walked.broke };
}

const AGAIN = "Run the same command again.";

/** A machine whose conductor did not let go. */
export function lockedOut({ uuid, bm_node_id }: Planned, holder: string): Trouble {
  const why = `${holder} is working on it`;
  return { standing: "waiting", why, fix: AGAIN, uuid, bm_node_id };
}
