import type { JsonObject } from "../lib/json.ts";
import type { State } from "../model/change.ts";
import type { StartedChange } from "./started.ts";

/** State of a machine's change, which a part extends. */
export interface Position {
  /** `partway` is started and watched until its end. `waiting` is retried after all others. */
  readonly is: State["is"] | "partway";
  /** For a rollback that ends as `other`: data for the remaining rollback. */
  readonly remainder?: JsonObject;
}

/** Writes to the journal, immediately before a change. @param observed data for rollback */
type Begin = (observed?: JsonObject) => Promise<void>;

/** Changes machines one at a time. Knows its own calls, but no journal, pace or other machine. */
export interface WindowPart<C extends { readonly id: string }, P extends Position> {
  /** Name in the journal. */
  readonly name: string;
  /** Changes to inspect at once. */
  readonly size: number;
  /** Also keeps the start data of the rollback, after that of the change. */
  readonly keepsBack?: true;
  /** States of changes, in order, without writes. @param watched whether these are in progress */
  readonly inspect: (changes: readonly C[], watched: boolean) => Promise<readonly P[]>;
  /** Starts a change, or starts it again, only if its state is as inspected. */
  readonly perform: (change: C, position: P, begin: Begin) => Promise<P>;
  /** Maximum machines in progress, if the pace has no limit. */
  readonly room?: () => number;
  /** Result of a machine that exceeded its deadline. */
  readonly overdue?: (change: C, last: P) => P;
}

/** Speed of a run. Times are milliseconds. */
export interface Pace {
  /** Concurrent calls. */
  readonly concurrency: number;
  /** Maximum machines in progress. Null: as in `room`. */
  readonly inFlight: number | null;
  /** Minimum time between two starts. */
  readonly every: number;
  /**
   * Waits before the inspections of machines in progress. The last wait repeats, and a restart
   * resumes at the second wait. Absent: immediately, then each second.
   */
  readonly pauses?: readonly [number, ...number[]];
  /** Maximum time of one machine. */
  readonly deadline: number;
  /** Maximum time for all waiting machines together. */
  readonly lockWait: number;
  /** Failures that end the run. A machine that failed before does not count. */
  readonly maxFailures: number;
}

/** One at a time without delay. */
export const ONE_BY_ONE: Pace = {
  ...{ concurrency: 1, inFlight: 1, every: 0, lockWait: 0 },
  ...{ deadline: Number.POSITIVE_INFINITY, maxFailures: Number.POSITIVE_INFINITY },
};

export interface WindowLeg<C extends { readonly id: string }, P extends Position> {
  readonly part: WindowPart<C, P>;
  /** Command name for an error midway. */
  readonly command: string;
  /** @param started started and not reverted machines. A rollback has no others */
  readonly changes: (started: ReadonlyMap<string, StartedChange>) => AsyncIterable<readonly C[]>;
  readonly pace: Pace;
}
