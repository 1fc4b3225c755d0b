import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { TargetIdentity } from "../model/artefact.ts";
import { type Entry, entriesOf } from "../model/journal.ts";
import type { Lock } from "../model/target.ts";
import { type RunSession, withSession } from "./session.ts";

/** Parts that go machine by machine. */
type Name = Parameters<typeof entriesOf>[1];
type EntryOf<Of extends Name> = Extract<Entry, { readonly part: Of }>;

/** What such a part acts with. */
export interface Stage<Of extends Name> extends Pick<RunSession, "by" | "stopping"> {
  readonly journal: {
    /** Its own. */
    readonly entries: () => readonly EntryOf<Of>[];
    readonly append: (entry: EntryOf<Of>) => Promise<void>;
  };
}

/** Runs such a part under the target's lock. */
export async function withStage<Of extends Name, T>(
  run: RunFolder,
  lock: Lock,
  part: Of,
  target: TargetIdentity,
  work: (stage: Stage<Of>, session: RunSession) => Promise<T>,
): Promise<T> {
  try {
    return await withSession(run, async (session) => {
      await session.begin(part, target);
      const { by, stopping, journal } = session;
      const own = { append: journal.append, entries: () => entriesOf(journal.entries(), part) };
      return work({ by, stopping, journal: own }, session);
    });
  } finally {
    await lock.release();
  }
}
