import type { MigrationError } from "../lib/error.ts";
import type { Row } from "./machine.ts";

/** A change of one object. `before` is null to create it, `after` is null to delete it. */
export interface Change {
  /** Unique in its part: `node:UUID`, `instances:17`. */
  readonly id: string;
  /** Uuid of its machine. Null if several machines share the object. */
  readonly machine: string | null;
  readonly before: Row | null;
  readonly after: Row | null;
}

/** State of a change: not made, made, waiting for a lock, or other. */
export interface State {
  readonly id: string;
  readonly is: "before" | "after" | "waiting" | "other";
  /** Reason of `waiting` and `other`, else empty. */
  readonly reason: string;
  /** Columns that differ from `after` in an existing row. Absent if unknown. */
  readonly fields?: readonly string[];
}

export interface SkippedRow {
  readonly id: string;
  readonly reason: string;
}

export interface Outcome {
  readonly done: readonly string[];
  readonly found: readonly string[];
  /** Not made, because the object was changed by another user. */
  readonly skipped: readonly SkippedRow[];
  /** Machines that failed, if the part processes one machine at a time. */
  readonly failed?: readonly { readonly machine: string; readonly reason: string }[];
  /** Why the batch ended early, and the number of completed machines. See `failed`. */
  readonly broke?: {
    readonly cause: MigrationError;
    readonly completed: number;
    /** No change of the batch was made, or can have been made. */
    readonly untouched?: boolean;
  };
}

export function invert<C extends Change>(change: C): C {
  return { ...change, before: change.after, after: change.before };
}

export interface Hooks {
  /** Whether this run made the change. A difference is then skipped, not a stale plan. */
  readonly owned: (id: string) => boolean;
  /** Whether the machine was completed before. A difference is then a later change. */
  readonly ended: (machine: string) => boolean;
  /** Runs before any write, inside the transaction if there is one. An error stops the batch. */
  readonly precondition: () => Promise<void>;
  /** Like `precondition`, before the first change that is not made yet. */
  readonly making?: () => Promise<void>;
  /**
   * Writes to the journal, immediately before the changes are committed: those made now, those that
   * existed before, and those that the service refused, which are not owned.
   */
  readonly observed: (observed: {
    readonly done?: readonly string[];
    readonly found?: readonly string[];
    readonly refused?: readonly string[];
  }) => Promise<void>;
}

export interface GuardPreview {
  readonly action: "clear" | "leave" | "keep" | "miss" | "protect";
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly fields: string;
  readonly reason: string;
}

export interface UndoPreview {
  readonly action: "remove" | "restore" | "leave";
  readonly resource: string;
  /** For a Nova row, its key. */
  readonly uuid: string;
  readonly bm_node_id: number | null;
  readonly reason: string | null;
}

export interface BootRow {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly state: "ready" | "staged" | "to stage" | "left" | "undone" | "stumbles";
  readonly changes: readonly string[];
  readonly reason: string | null;
}
