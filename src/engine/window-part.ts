import type { JsonObject } from "../lib/json.ts";
import type { State } from "../model/change.ts";
import type { Begun } from "./begun.ts";

/** Where a change of one machine is; a part adds what it has to say of it. */
export interface Position {
  /** `partway` is begun and not at its end: it is watched. `waiting` is tried again after all others. */
  readonly is: State["is"] | "partway";
  /** Of a way back that ends as `other`: what is to be taken back still, as `observed`. */
  readonly left?: JsonObject;
}

/**
 * Written to the journal before it resolves; called right before anything is changed.
 *
 * @param observed what the way back needs to know of what is replaced
 */
type Begin = (observed?: JsonObject) => Promise<void>;

/**
 * A system whose machines go one by one, each for itself, one way: forward or back. It knows no journal,
 * no pace, no other machine.
 */
export interface WindowPart<C extends { readonly id: string }, P extends Position> {
  /** Names it in the journal. */
  readonly name: string;
  /** Changes inspected at once. */
  readonly size: number;
  /** What it begins with on its way back is kept too, behind what it began with. */
  readonly keepsBack?: true;
  /**
   * Where changes are, in their order; writes nothing.
   *
   * @param watched whether these are under way
   */
  readonly inspect: (changes: readonly C[], watched: boolean) => Promise<readonly P[]>;
  /** Begins one that is as before, or begins it again: only while it is as inspected. */
  readonly perform: (change: C, seen: P, begin: Begin) => Promise<P>;
  /** Machines that may be under way now, where the pace leaves it to the part. */
  readonly room?: () => number;
  /** What is said of one that was under way for too long. */
  readonly overdue?: (change: C, last: P) => P;
}

/** How fast machines go. Times are milliseconds. */
export interface Pace {
  /** Calls at the same time. */
  readonly together: number;
  /** Machines under way, at most; null: as many as the part has room for. */
  readonly inFlight: number | null;
  /** From one beginning to the next, at least. */
  readonly every: number;
  /**
   * Before each look at those under way, the last before each one more; one that is begun again begins at the second.
   * Absent: at once, then each second.
   */
  readonly looks?: readonly [number, ...number[]];
  /** For one machine to be under way. */
  readonly deadline: number;
  /** For all that wait, in all. */
  readonly lockWait: number;
  /** Failures that end it; one that had failed when it was first inspected does not count. */
  readonly maxFailures: number;
}

/** One after the other, as fast as they go. */
export const ONE_BY_ONE: Pace = {
  ...{ together: 1, inFlight: 1, every: 0, lockWait: 0 },
  ...{ deadline: Number.POSITIVE_INFINITY, maxFailures: Number.POSITIVE_INFINITY },
};

/** The machines of a part, one way. */
export interface WindowLeg<C extends { readonly id: string }, P extends Position> {
  readonly part: WindowPart<C, P>;
  /** Names it in the error that ends it midway. */
  readonly command: string;
  /** @param ours what the journal says was begun and not taken back: a way back has no others */
  readonly changes: (ours: ReadonlyMap<string, Begun>) => AsyncIterable<readonly C[]>;
  readonly pace: Pace;
}
