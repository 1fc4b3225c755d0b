import type { Change, Hooks, Outcome, State } from "../model/change.ts";
import type { BatchEntry, Entries, MachineEntry, NovaAfter } from "../model/journal.ts";

export type Direction = "forward" | "back";

/**
 * A system that can be changed. It knows its own rows or calls, and no journal, no lock, no batch, no
 * other part.
 */
export interface Part<C extends Change = Change> {
  /** Names it in the journal. */
  readonly name: string;
  /** Lines of its plan in one batch: a transaction, or what is finished after Ctrl-C. */
  readonly size: number;
  /** How far it came, for an error that ends it midway: `3 machines`. */
  readonly far: (sofar: { readonly lines: number; readonly done: number }) => string;
  /** How changes stand; nothing is locked or written. */
  readonly inspect: (changes: readonly C[]) => Promise<readonly State[]>;
  /** Changes that others still need as they are, and why; asked before a batch is begun. */
  readonly waiting?: (
    changes: readonly C[],
    direction: Direction,
  ) => Promise<ReadonlyMap<string, string>>;
  /** Of a walk that only inspects: counts these as made for what waits on them later. */
  readonly assume?: (changes: readonly C[]) => void;
  /** Makes changes: all or none in a transaction, otherwise as far as it came, which it tells. */
  readonly perform: (changes: readonly C[], hooks: Hooks) => Promise<Outcome>;
}

/** Why a machine takes no further part, by uuid: one channel between all legs of a walk. */
export type Excluded = ReadonlyMap<string, string>;

/** The changes of one part by one plan, and what is asked around them. */
export interface Leg<C extends Change = Change, L = C> {
  readonly part: Part<C>;
  /** sha256 of the plan. */
  readonly plan: string;
  readonly lines: () => AsyncIterable<readonly L[]>;
  readonly changesOf: (line: L) => readonly C[];
  readonly machineOf: (line: L) => string | null;
  /** A line without what nobody is told of a machine that was left out or failed: there may be many to keep. */
  readonly brief?: (line: L) => L;
  /** Runs before each batch is begun; what it throws keeps it from being begun. */
  readonly check: () => Promise<void>;
  /** Runs once, before the first write; what it throws stops everything before that. */
  readonly precondition: () => Promise<void>;
  /** Runs once, before the first change is made that is not there already; of a part of rows alone. */
  readonly making?: () => Promise<void>;
  /** Asks once more, right before their batch, which machines are left out, and why. */
  readonly exclude?: (lines: readonly L[]) => Promise<Excluded>;
  /** What is loaded is handed over later. */
  readonly staged?: boolean;
  /** Whether Nova's rows are changed behind these. */
  readonly nova?: NovaAfter;
  /** Changes that a leg before made, with which this one is reported as one: an error counts them too. */
  readonly already?: number;
}

/** Milliseconds since the epoch. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** What everything that acts has of the world. */
export interface Session {
  readonly journal: {
    readonly entries: () => Entries;
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
