import { openEntries } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import type { JsonObject } from "../../model/json.ts";
import type { Lock } from "../../model/target.ts";
import { withFailpoints } from "./failpoint.ts";
import { onInterrupt } from "./interrupt.ts";
import { whoami } from "./run.ts";

/** What a stage with a journal of its own acts with. */
export interface Stage<Entry> {
  readonly journal: {
    readonly entries: () => readonly Entry[];
    readonly append: (entry: Entry) => Promise<void>;
  };
  readonly by: string;
  /** True once the operator asked to stop. */
  readonly stopping: () => boolean;
}

interface Opening {
  readonly do: "open";
  readonly tool: string;
  readonly target: TargetIdentity;
}

/** A journal of the run: its file, how its lines are read, and its first entry. */
export interface StageJournal<Entry extends { readonly do: string }> {
  readonly name: string;
  readonly parse: (line: JsonObject, place: string) => Entry;
  readonly open: Entry & Opening;
}

/** Runs a stage under the target's lock, with its journal, and a stop on Ctrl-C. */
export async function withStage<Entry extends { readonly do: string }, T>(
  run: RunFolder,
  lock: Lock,
  { name, parse, open }: StageJournal<Entry>,
  work: (stage: Stage<Entry>) => Promise<T>,
): Promise<T> {
  const interrupt = onInterrupt();
  try {
    const journal = withFailpoints(await openEntries<Entry>(run, name, parse));
    try {
      if (journal.entries().length === 0) await journal.append(open);
      return await work({ journal, by: whoami(), stopping: interrupt.stopping });
    } finally {
      await journal.close();
    }
  } finally {
    interrupt.end();
    await lock.release();
  }
}
