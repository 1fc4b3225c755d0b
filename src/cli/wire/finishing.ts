import { setTimeout as sleep } from "node:timers/promises";
import { endOf } from "../../core/release/ended.ts";
import type { Finishing } from "../../core/release/finish.ts";
import { unprotected } from "../../core/release/guards.ts";
import { readEntries, readJournal } from "../../edge/disk/journal.ts";
import { parseFinish } from "../../edge/disk/journal-entry.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { FinishEntry, Guard } from "../../model/finish.ts";
import type { Release } from "../../model/target.ts";
import { checkEngine, checkIdentity } from "./acting.ts";
import { failpoint } from "./failpoint.ts";
import type { Guarding, Road } from "./road.ts";
import { withStage } from "./stage-journal.ts";

/** The journal of what finish cleared, in the run's folder. */
export const FINISH = "finish.jsonl";

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
  const open = {
    do: "open",
    format: "nova2ironic/finish@1",
    tool: header.tool,
    target: identity,
  } as const;
  const journal = { name: FINISH, parse: parseFinish, open };
  return withStage<FinishEntry, T>(run, await lock(), journal, (stage) => {
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
export async function unprotectedNodes({
  path,
}: Pick<RunFolder, "path">): Promise<ReadonlySet<string>> {
  const { entries } = await readEntries(`${path}/${FINISH}`, parseFinish);
  if (entries.length === 0) return new Set();
  return unprotected(entries, (await readJournal(`${path}/journal.jsonl`)).entries);
}

/** When finish ended this run; null when it did not, or the run went on since. */
export async function endOfRun({
  path,
}: Pick<RunFolder, "path">): Promise<{ readonly at: string; readonly by: string } | null> {
  const { entries } = await readEntries(`${path}/${FINISH}`, parseFinish);
  if (entries.length === 0) return null;
  return endOf(entries, (await readJournal(`${path}/journal.jsonl`)).entries);
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
