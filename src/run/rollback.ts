import { MigrationError } from "../lib/error.ts";
import type { SkippedRow, UndoPreview } from "../model/change.ts";
import type { Entries } from "../model/journal.ts";
import { closing, type Keep } from "./databases.ts";
import { readJournal } from "./files/journal.ts";
import { openRun, type RunFolder } from "./files/run-folder.ts";
import { refuseCopy } from "./files/run-identity.ts";
import { checkKind, type RunAbout } from "./files/run-kind.ts";
import { checkWindow } from "./files/window-file.ts";
import { inRun } from "./run.ts";
import type { Sink } from "./sink.ts";

export interface RollbackOptions {
  readonly run: string;
  readonly all: boolean;
  /** Machines, named by the kind of run. */
  readonly node?: readonly string[];
}

/** Receives the skipped rows, which have changed. */
type ReportSkipped = (rows: readonly SkippedRow[]) => void;

interface Ended {
  /** About rows and files that are not part of this rollback. */
  readonly notes: readonly string[];
  /** Nova rows were skipped, because their database is not given. */
  readonly noNova: boolean;
}

export const ENDED: Ended = { notes: [], noNova: false };

/** Rows of a preview by action. `nodes` are the Ironic nodes to remove. */
interface PreviewCounts {
  remove: number;
  restore: number;
  leave: number;
  nodes: number;
}

/** `Found` comes from the run's files. `Job` also has the opened systems. */
interface RollbackSteps<Found, Job> {
  /** Null if there is nothing to revert. @throws MigrationError N2I-E306 for an unknown machine */
  readonly find: (run: RunFolder, entries: Entries) => Promise<Found | null>;
  /** Text after `Rollback: ` in this case. */
  readonly nothing: string;
  readonly open: (found: Found, keep: Keep) => Promise<Job>;
  readonly question: (job: Job) => string | Promise<string>;
  /** Null if stopped on request. */
  readonly back: (job: Job, reportSkipped: ReportSkipped) => Promise<Ended | null>;
  readonly previews: (job: Job) => AsyncIterable<UndoPreview>;
  readonly summary?: (job: Job, counts: PreviewCounts) => void | Promise<void>;
}

export interface Rollback {
  /** Lists the rows to revert, without writes. */
  readonly preview: (sink: Sink) => Promise<void>;
  /** Null if there was nothing to revert, or on a stop. */
  readonly back: (sink: Sink, reportSkipped: ReportSkipped) => Promise<Ended | null>;
}

/** Kinds without a window, whose service locks the run for days, so a preview takes no lock. */
const SERVED: readonly RunAbout["kind"][] = ["manage", "switchover"];

/** @param stepsOf steps of the run's kind; `preview`: without writes */
export function rollbackOf<Found, Job>(
  about: RunAbout,
  { run: path, all, node = [] }: RollbackOptions,
  stepsOf: (sink: Sink, preview: boolean) => RollbackSteps<Found, Job>,
): Rollback {
  const isServed = SERVED.includes(about.kind);
  const found = async (run: RunFolder, steps: RollbackSteps<Found, Job>, sink: Sink) => {
    const one = await steps.find(run, (await readJournal(run)).entries);
    if (one === null) sink.result(`Rollback: ${steps.nothing}.`);
    return one;
  };
  return {
    async back(sink, reportSkipped) {
      checkScope(all, node);
      const steps = stepsOf(sink, false);
      return inRun(path, "rollback", about, async (run) => {
        const one = await found(run, steps, sink);
        if (one === null) return null;
        if (isServed) await refuseCopy(run);
        else await checkWindow(run, "rollback");
        return closing(async (keep) => {
          const job = await steps.open(one, keep);
          await sink.confirm(await steps.question(job));
          return steps.back(job, reportSkipped);
        });
      });
    },
    async preview(sink) {
      checkScope(all, node);
      const steps = stepsOf(sink, true);
      const work = async (run: RunFolder): Promise<void> => {
        const one = await found(run, steps, sink);
        // An empty list, for programs.
        if (one === null) return sink.list("undos", (async function* () {})());
        await closing(async (keep) => {
          const job = await steps.open(one, keep);
          const counts = { remove: 0, restore: 0, leave: 0, nodes: 0 };
          await sink.list("undos", counted(steps.previews(job), counts));
          await steps.summary?.(job, counts);
        });
      };
      if (!isServed) return inRun(path, "rollback", about, work);
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

/** @throws MigrationError N2I-E305 unless the scope is either all machines or named ones */
function checkScope(all: boolean, names: readonly string[]): void {
  if (all === names.length > 0)
    throw new MigrationError(
      "N2I-E305",
      all ? "--all and --node are mutually exclusive" : "no scope was specified for the rollback",
    );
}
