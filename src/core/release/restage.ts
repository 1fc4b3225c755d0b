import type { JournalEntry } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { ReleaseEntry } from "../../model/handover.ts";
import { halted } from "../apply/halt.ts";
import { judge } from "./judge.ts";
import { iso, type Planned, type Releasing, type Trouble } from "./release.ts";

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

const LOOK_MS = 500;

/**
 * Takes releases back: the machines this run released are put into our maintenance again. What a
 * conductor did meanwhile stays; it does nothing more. One that a conductor has reserved is tried
 * again once all others are behind us. Safe to run again.
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
  let begun = false;
  /** @returns the conductor whose lock keeps the machine from it; null when it has come to its end */
  const stage = async ({ uuid, bm_node_id, row }: Planned): Promise<string | null> => {
    begun = true;
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
  let locked: (readonly [node: Planned, by: string])[] = [];
  const each = async (): Promise<boolean> => {
    for await (const batch of plan)
      for (const node of batch) {
        if (!ours.has(node.uuid)) continue;
        if (stopping()) return false;
        const holder = await stage(node);
        if (holder !== null) locked.push([node, holder]);
      }
    return true;
  };
  const again = async (): Promise<void> => {
    const since = clock.now();
    while (locked.length > 0 && !stopping() && clock.now() - since < lockWait * 1000) {
      await clock.sleep(LOOK_MS);
      const still: typeof locked = [];
      for (const [node] of locked) {
        const holder = await stage(node);
        if (holder !== null) still.push([node, holder]);
      }
      locked = still;
    }
  };
  let broke: MigrationError | null = null;
  try {
    if (!(await each())) return { staged, left, stopped: true, broke };
    await again();
  } catch (cause) {
    if (!begun || !(cause instanceof MigrationError)) throw cause;
    broke = halted("release --undo", behind, cause);
  }
  for (const [{ uuid, bm_node_id }, holder] of locked) {
    const why = `${holder} is working on it`;
    left.push({ standing: "waiting", why, fix: AGAIN, uuid, bm_node_id });
  }
  return { staged, left, stopped: stopping() && locked.length > 0, broke };
}

const AGAIN = "Run the same command again.";
