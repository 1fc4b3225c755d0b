import { lockTarget } from "../edge/database/lock.ts";
import type { Database } from "../edge/database/open.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { createHandover } from "../edge/ironic-db/handover.ts";
import { identifyTarget } from "../edge/ironic-db/open.ts";
import { type Followed, follow } from "../edge/log/follow.ts";
import type { PlanHeader } from "../model/artefact.ts";
import { HAND_OVER, type Handover } from "../model/handover.ts";
import type { Releasing } from "../parts/hand-over.ts";
import { checkIdentity, checkReasons } from "./acting.ts";
import type { Mappings } from "./documents.ts";
import { failpoint } from "./failpoint.ts";
import { withStage } from "./stage-journal.ts";

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
  try {
    // A log that cannot be read is told before anything of the run is written.
    for (const path of world.logs) logs.push(await follow(path));
    return await withStage(run, await lockTarget(database), HAND_OVER, identity, (stage) =>
      work({
        ...stage,
        handover: committing(createHandover(database, release)),
        ...{ logs, clock: { now: Date.now, sleep: world.sleep } },
      }),
    );
  } finally {
    for (const log of logs) await log.close();
  }
}
