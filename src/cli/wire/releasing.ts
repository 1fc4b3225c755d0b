import type { Releasing } from "../../core/release/release.ts";
import { lockTarget } from "../../edge/database/lock.ts";
import type { Database } from "../../edge/database/open.ts";
import { openEntries } from "../../edge/disk/journal.ts";
import { parseRelease } from "../../edge/disk/journal-entry.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { createHandover } from "../../edge/ironic-db/handover.ts";
import { identifyTarget } from "../../edge/ironic-db/open.ts";
import { type Followed, follow } from "../../edge/log/follow.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import type { Handover, ReleaseEntry } from "../../model/handover.ts";
import { checkIdentity, checkReasons } from "./acting.ts";
import type { Mappings } from "./documents.ts";
import { failpoint, withFailpoints } from "./failpoint.ts";
import { onInterrupt } from "./interrupt.ts";
import { whoami } from "./run.ts";

/** The journal of hand-overs, in the run's folder. */
export const RELEASE = "release.jsonl";

/** A place to die right after each change. */
function committing(handover: Handover): Handover {
  const then = async (point: string, changed: boolean): Promise<boolean> => {
    await failpoint(point);
    return changed;
  };
  return {
    ...handover,
    clear: async (uuid) => then("clear.committed", await handover.clear(uuid)),
    stage: async (uuid) => then("restage.committed", await handover.stage(uuid)),
  };
}

/** Everything a hand-over needs: the target's lock, its journal, and a stop on Ctrl-C. */
export async function withReleasing<T>(
  run: RunFolder,
  database: Database,
  header: PlanHeader,
  mappings: Mappings,
  world: {
    readonly sleep: (milliseconds: number) => Promise<void>;
    /** Paths of conductors' logs. */
    readonly logs: readonly string[];
  },
  work: (releasing: Omit<Releasing, "progress">) => Promise<T>,
): Promise<T> {
  const { identity, release } = await identifyTarget(database, mappings, header.target.release);
  checkIdentity(header.target, identity);
  checkReasons(release);
  const logs: Followed[] = [];
  const lock = await lockTarget(database);
  const interrupt = onInterrupt();
  try {
    for (const path of world.logs) logs.push(await follow(path));
    const journal = withFailpoints(await openEntries<ReleaseEntry>(run, RELEASE, parseRelease));
    try {
      if (journal.entries().length === 0)
        await journal.append({
          do: "open",
          format: "nova2ironic/release@1",
          tool: header.tool,
          target: identity,
        });
      return await work({
        handover: committing(createHandover(database, release)),
        journal,
        logs,
        clock: { now: Date.now, sleep: world.sleep },
        by: whoami(),
        stopping: interrupt.stopping,
      });
    } finally {
      await journal.close();
    }
  } finally {
    interrupt.end();
    for (const log of logs) await log.close();
    await lock.release();
  }
}
