import type { JournalEntry } from "../../model/artefact.ts";
import type { MigrationError } from "../../model/error.ts";
import type { ReleaseEntry } from "../../model/handover.ts";
import { judge } from "./judge.ts";
import { iso, type Planned, type Releasing, type Trouble } from "./release.ts";
import { walk } from "./walk.ts";

export interface Restaged {
  readonly staged: number;
  readonly left: readonly Trouble[];
  readonly stopped: boolean;
  /** As for `Released`. */
  readonly broke: MigrationError | null;
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
    await journal.append({ do: "stage", node: uuid, at: iso(clock.now()), by });
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
