import type { MigrationError } from "../lib/error.ts";
import type { Row } from "./machine.ts";

/** One thing to change: created where `before` is null, deleted where `after` is null. */
export interface Change {
  /** Unique in its part: `node:UUID`, `instances:17`. */
  readonly id: string;
  /** Uuid of the machine it belongs to; null where several share it. */
  readonly machine: string | null;
  readonly before: Row | null;
  readonly after: Row | null;
}

/** How a change stands: as before it, as after it, waiting until others let go of it, or as neither. */
export interface State {
  readonly id: string;
  readonly is: "before" | "after" | "waiting" | "other";
  /** What it waits for, or in what it is as neither; empty otherwise. */
  readonly why: string;
  /** Columns in which it is not as after the change, of a row that is there; absent where nobody tells. */
  readonly fields?: readonly string[];
}

/** A change that was left as it is, and why. */
export interface Left {
  readonly id: string;
  readonly why: string;
}

/** What became of a batch. */
export interface Outcome {
  /** Ids of changes made now. */
  readonly done: readonly string[];
  /** Those that were made already. */
  readonly found: readonly string[];
  /** Those that somebody changed since: not made. */
  readonly left: readonly Left[];
  /** Machines that did not get to where they should be; only where each goes alone. */
  readonly failed?: readonly { readonly machine: string; readonly why: string }[];
  /** Why it ended before the batch did, and how many machines came to an end; as for `failed`. */
  readonly broke?: {
    readonly cause: MigrationError;
    readonly behind: number;
    /** Nothing of the batch was made, or can have been. */
    readonly untouched?: boolean;
  };
}

/** The way back: before and after exchanged. */
export function invert<C extends Change>(change: C): C {
  return { ...change, before: change.after, after: change.before };
}

/** What is said of changes while they are made, so that after a crash nobody doubts whose they are. */
export interface Observed {
  /** Made now, or about to be. */
  readonly done?: readonly string[];
  /** There already. */
  readonly found?: readonly string[];
  /** None is there by our hand: the service did not take them. */
  readonly refused?: readonly string[];
}

/** What is asked of whoever lets a part act. */
export interface Hooks {
  /** Whether this run made the change before: one that differs then is left, not held against the plan. */
  readonly owned: (id: string) => boolean;
  /** Whether a machine came to its end once: what differs now was changed since. */
  readonly ended: (machine: string) => boolean;
  /** Runs before anything is written, inside the transaction where there is one; what it throws stops it. */
  readonly precondition: () => Promise<void>;
  /** Runs before the first change is made that is not there already, likewise. */
  readonly making?: () => Promise<void>;
  /** Written to the journal before it resolves; called right before changes are kept. */
  readonly observed: (observed: Observed) => Promise<void>;
}
