import type { Left } from "../model/change.ts";
import type { Entries } from "../model/journal.ts";
import type { UndoPreview } from "../model/preview.ts";
import { closing, type Keep } from "./databases.ts";
import { readJournal } from "./files/journal.ts";
import { openRun, type RunFolder } from "./files/run-folder.ts";
import { checkKind, type RunAbout } from "./files/run-kind.ts";
import { refuseCopy } from "./files/run-place.ts";
import { checkWindow } from "./files/window-file.ts";
import { inRun } from "./run.ts";
import { checkScope } from "./scope.ts";
import type { Sink } from "./sink.ts";

/** The options of a rollback of any kind of run. */
export interface RollbackOptions {
  readonly run: string;
  readonly all: boolean;
  /** Machines; their names depend on the kind of run. */
  readonly node?: readonly string[];
}

/** Is given the rows that stay as they are, because they were changed since. */
type Leave = (rows: readonly Left[]) => void;

/** The end of a rollback. */
interface Ended {
  /** About rows and files that stay because they are not part of this rollback. */
  readonly notes: readonly string[];
  /** Rows of Nova stay, because its database is not given. */
  readonly untold: boolean;
}

export const ENDED: Ended = { notes: [], untold: false };

/** Rows of a preview by what would become of them; `nodes` are those of Ironic that would be removed. */
interface PreviewCounts {
  remove: number;
  restore: number;
  leave: number;
  nodes: number;
}

/**
 * The steps that take back a run of one kind. `Found` is read from the run's files; `Job` has the systems opened
 * as well.
 */
interface RollbackSteps<Found, Job> {
  /** Null if there is nothing to take back. @throws MigrationError N2I-E306 for a machine that is not of the run */
  readonly find: (run: RunFolder, entries: Entries) => Promise<Found | null>;
  /** The line printed then, after `Rollback: `. */
  readonly nothing: string;
  readonly open: (found: Found, keep: Keep) => Promise<Job>;
  readonly question: (job: Job) => string | Promise<string>;
  /** Null if it was stopped on request. */
  readonly back: (job: Job, leave: Leave) => Promise<Ended | null>;
  readonly previews: (job: Job) => AsyncIterable<UndoPreview>;
  readonly summary?: (job: Job, counts: PreviewCounts) => void | Promise<void>;
}

export interface Rollback {
  /** Lists the rows that the same options would take back; writes nothing. */
  readonly preview: (sink: Sink) => Promise<void>;
  /** Null if there was nothing to take back, or it was stopped on request. */
  readonly back: (sink: Sink, leave: Leave) => Promise<Ended | null>;
}

/**
 * Kinds with a service, which holds the lock of its run for days: a preview takes no lock. They have no window: their
 * work comes after the migration.
 */
const SERVED: readonly RunAbout["kind"][] = ["manage", "switchover"];

/**
 * The rollback of a run: the scope, what there is to take back, the window, the question, the walk; or its preview.
 *
 * @param stepsOf the steps of the run's kind; `preview`: nothing may be written
 */
export function rollbackOf<Found, Job>(
  about: RunAbout,
  { run: path, all, node = [] }: RollbackOptions,
  stepsOf: (sink: Sink, preview: boolean) => RollbackSteps<Found, Job>,
): Rollback {
  const found = async (
    run: RunFolder,
    { find, nothing }: RollbackSteps<Found, Job>,
    sink: Sink,
  ) => {
    const one = await find(run, (await readJournal(run)).entries);
    if (one === null) sink.result(`Rollback: ${nothing}.`);
    return one;
  };
  return {
    async back(sink, leave) {
      checkScope(all, node);
      const steps = stepsOf(sink, false);
      return inRun(path, "rollback", about, async (run) => {
        const one = await found(run, steps, sink);
        if (one === null) return null;
        if (SERVED.includes(about.kind)) await refuseCopy(run);
        else await checkWindow(run, "rollback");
        return closing(async (keep) => {
          const job = await steps.open(one, keep);
          await sink.confirm(await steps.question(job));
          return steps.back(job, leave);
        });
      });
    },
    async preview(sink) {
      checkScope(all, node);
      const steps = stepsOf(sink, true);
      const work = async (run: RunFolder): Promise<void> => {
        const one = await found(run, steps, sink);
        // An empty list, for programs that read it.
        if (one === null) return sink.list("undos", (async function* () {})());
        await closing(async (keep) => {
          const job = await steps.open(one, keep);
          const counts = { remove: 0, restore: 0, leave: 0, nodes: 0 };
          await sink.list("undos", counted(steps.previews(job), counts));
          await steps.summary?.(job, counts);
        });
      };
      if (!SERVED.includes(about.kind)) return inRun(path, "rollback", about, work);
      const run = await openRun(path, { create: false });
      await checkKind(run, about, "rollback");
      return work(run);
    },
  };
}

async function* counted(
  rows: AsyncIterable<UndoPreview>,
  counts: PreviewCounts,
): AsyncGenerator<UndoPreview> {
  for await (const row of rows) {
    counts[row.action] += 1;
    if (row.action === "remove" && row.resource === "node") counts.nodes += 1;
    yield row;
  }
}
