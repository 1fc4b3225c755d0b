import type { RefusalCode } from "./refusals.ts";

/** One way of a rehearsal. */
export interface RehearsedStage {
  readonly stage: string;
  /** Of the whole command. */
  readonly seconds: number;
  readonly machines: number;
  /** Written, compared or removed; of the copy: made. */
  readonly rows: number;
  /** Of the writing alone, where something was written; null where nothing was, or in no time. */
  readonly rate: number | null;
  /** `done`, or what was not as it should be. */
  readonly result: string;
}

/** What the command itself would stop for, on the target as it is. */
export interface RehearsedRefusal {
  readonly stage: string;
  readonly code: RefusalCode;
  readonly message: string;
  readonly fix: string;
  /** What the rehearsal went on with; null: with nothing. */
  readonly went_on: string | null;
}

/** What of a plan's rows of Nova had no copy. */
export type Unrehearsed = Pick<Rehearsal["nova"], "left">;

/** `RUN/rehearsal.json`: what the last rehearsal of a run found. */
export interface Rehearsal {
  readonly format: "nova2ironic/rehearsal@1";
  readonly tool: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly by: string;
  /** sha256 of the plan that was rehearsed. */
  readonly plan: string;
  /** For people. */
  readonly target: string;
  /** How the copy was made, for people. */
  readonly copy: string;
  /** What of the target was not copied, for people; null: nothing. */
  readonly without: string | null;
  readonly stages: readonly RehearsedStage[];
  readonly refusals: readonly RehearsedRefusal[];
  /** What of the plan is in Nova. */
  readonly nova: {
    /** Rows that are changed. */
    readonly rows: number;
    /** Those of them that were not rehearsed, and could have been. */
    readonly left: number;
    /** Why they were not. */
    readonly why: string | null;
  };
  /** Whether the rollback left the copy as it was before; null: it did not come that far. */
  readonly as_before: boolean | null;
  /** Rows the first apply wrote, and the seconds its batches took. */
  readonly loaded: { readonly count: number; readonly seconds: number } | null;
  /** Why the target's rollback takes longer than the copy's, and what its owner runs; null: it does not. */
  readonly slow: string | null;
  /** It could not be removed. */
  readonly copy_left: boolean;
  /** All that was rehearsed went as planned, and nothing would have been refused. */
  readonly held: boolean;
}
