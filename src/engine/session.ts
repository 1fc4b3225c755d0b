import type { BatchEntry, Entry, MachineEntry } from "../model/journal.ts";

/** Milliseconds since the epoch. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** What everything that acts has of the world. */
export interface Session {
  readonly journal: {
    readonly entries: () => readonly Entry[];
    /** Once this resolves, a power cut keeps the entry. */
    readonly append: (entry: BatchEntry | MachineEntry) => Promise<void>;
  };
  /** ISO 8601, UTC. */
  readonly now: () => string;
  /** Who acts, for the journal: `root@host pid 12`. */
  readonly by: string;
  /** True once the operator asked to stop: the batch under way is finished, no other begun. */
  readonly stopping: () => boolean;
}
