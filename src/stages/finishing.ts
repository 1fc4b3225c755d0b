import { setTimeout as sleep } from "node:timers/promises";
import { endOf } from "../core/release/ended.ts";
import { unprotected } from "../core/release/guards.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { PlanHeader } from "../model/artefact.ts";
import { MigrationError } from "../model/error.ts";
import { FINISH, type Guard } from "../model/finish.ts";
import type { Release } from "../model/target.ts";
import type { Finishing } from "../parts/finish.ts";
import { checkEngine, checkIdentity } from "./acting.ts";
import { failpoint } from "./failpoint.ts";
import type { Guarding, Road } from "./road.ts";
import { withStage } from "./stage-journal.ts";

/** Who guards the nodes of a plan's target. @throws MigrationError N2I-E300 for another target */
export async function openGuard(road: Road, { target }: PlanHeader): Promise<Guarding> {
  checkEngine(target, road);
  const found = await road.guard(target.release);
  checkIdentity(target, found.identity);
  return found;
}

/** Whether a release knows a guard at all: before Stein none does. */
export function knowsGuards({ node }: Pick<Release, "node">): boolean {
  return node.some(({ name }) => name === "protected" || name === "automated_clean");
}

/** Everything that finish needs: the target's lock, its journal, and a stop on Ctrl-C. */
export async function withFinishing<T>(
  run: RunFolder,
  road: Road,
  header: PlanHeader,
  lockWait: number,
  work: (finishing: Omit<Finishing, "progress">, release: Release) => Promise<T>,
): Promise<T> {
  const { identity, release, guard, inFlight, lock } = await openGuard(road, header);
  return withStage(run, await lock(), FINISH, identity, (stage) => {
    const clock = { now: Date.now, sleep };
    return work({ ...stage, clock, lockWait, inFlight, guard: committing(guard) }, release);
  });
}

/** A place to die right before and after each change. */
function committing(guard: Guard): Guard {
  return {
    ...guard,
    async write(uuid, seen, change) {
      await failpoint("write.before");
      const written = await guard.write(uuid, seen, change);
      await failpoint("write.after");
      return written;
    },
  };
}

/** Nodes of this run whose protection finish cleared, and that no rollback took back since. */
export async function unprotectedNodes(run: Pick<RunFolder, "path">): Promise<ReadonlySet<string>> {
  return unprotected((await readJournal(run)).entries);
}

/** When finish ended this run; null when it did not, or the run went on since. */
export async function endOfRun(
  run: Pick<RunFolder, "path">,
): Promise<{ readonly at: string; readonly by: string } | null> {
  return endOf((await readJournal(run)).entries);
}

/**
 * What works on machines that Nova manages by now wants a word of its own.
 *
 * @param what it would do
 * @throws MigrationError N2I-E321
 */
export async function checkNotFinished(
  run: Pick<RunFolder, "path">,
  what: string,
  { afterFinish, plan = false }: { readonly afterFinish: boolean; readonly plan?: boolean },
): Promise<void> {
  const end = afterFinish || plan ? null : await endOfRun(run);
  if (end !== null)
    throw new MigrationError("N2I-E321", `finish ended this run at ${end.at}; ${what}`);
}
