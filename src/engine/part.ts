import type { Change, Hooks, Outcome, State } from "../model/change.ts";
import type { BatchEntry, Entries, MachineEntry } from "../model/journal.ts";

export type Direction = "forward" | "back";

export interface ExecutionProgress {
  readonly lines: number;
  readonly done: number;
}

/** Knows its own rows or calls, but no journal, lock, batch or other part. */
export interface Part<C extends Change = Change> {
  /** Name in the journal. */
  readonly name: string;
  /** Plan lines per batch: a transaction, or the unit that is completed after Ctrl-C. */
  readonly size: number;
  /** Progress for an error midway: `3 machines`. */
  readonly amount: (progress: ExecutionProgress) => string;
  /** States of changes, without locks and writes. */
  readonly inspect: (changes: readonly C[]) => Promise<readonly State[]>;
  /** Changes whose objects are in use, and the reason. Called before a batch starts. */
  readonly waiting?: (
    changes: readonly C[],
    direction: Direction,
  ) => Promise<ReadonlyMap<string, string>>;
  /** For a preview: treats these changes as made, for later calls of `waiting`. */
  readonly assume?: (changes: readonly C[]) => void;
  /** Makes changes: atomically in a transaction, else as far as possible and reported. */
  readonly perform: (changes: readonly C[], hooks: Hooks) => Promise<Outcome>;
}

/** Excluded machines by uuid with the reason, shared by all legs of a run. */
export type Excluded = ReadonlyMap<string, string>;

/** Changes of one part in one plan, with callbacks. */
export interface Leg<C extends Change = Change, L = C> {
  readonly part: Part<C>;
  /** sha256 of the plan. */
  readonly plan: string;
  readonly lines: () => AsyncIterable<readonly L[]>;
  readonly changesOf: (line: L) => readonly C[];
  readonly machineOf: (line: L) => string | null;
  /** Removes data of a skipped or failed line that reports do not need, to save memory. */
  readonly brief?: (line: L) => L;
  /** Runs before each batch. An error prevents its start. */
  readonly check: () => Promise<void>;
  /** Runs once, before the first write. An error stops the run. */
  readonly precondition: () => Promise<void>;
  /** Runs once, before the first new change. Only for parts of rows. */
  readonly making?: () => Promise<void>;
  /** Final check immediately before a batch: excluded machines with the reason. */
  readonly exclude?: (lines: readonly L[]) => Promise<Excluded>;
  /** The load is staged for a later hand-over. */
  readonly staged?: boolean;
  /** Whether Nova's rows are changed afterwards. */
  readonly nova?: "follows" | "left";
  /** Changes of a previous leg that is reported together with this one. */
  readonly already?: number;
}

/** Milliseconds since the epoch. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** Environment of all commands that make changes. */
export interface Session {
  readonly journal: {
    readonly entries: () => Entries;
    /** When it resolves, the entry survives a power failure. */
    readonly append: (entry: BatchEntry | MachineEntry) => Promise<void>;
  };
  /** ISO 8601, UTC. */
  readonly now: () => string;
  /** User and process, for the journal: `root@host pid 12`. */
  readonly by: string;
  /** Whether the operator requested a stop: the current batch is completed, and no other starts. */
  readonly stopping: () => boolean;
}
