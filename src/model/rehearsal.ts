import type { RefusalCode } from "../lib/refusals.ts";

/** One way of a rehearsal. */
export interface RehearsedStage {
  readonly stage: string;
  /** Of the whole command. */
  readonly seconds: number;
  readonly machines: number;
  /** Written, compared or removed. */
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

/** The number of Nova rows of a plan that had no copy. */
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
  /** The addresses of the copies, for people. */
  readonly copies: readonly string[];
  readonly stages: readonly RehearsedStage[];
  readonly refusals: readonly RehearsedRefusal[];
  /** What of the plan is in Nova. */
  readonly nova: {
    /** Rows that are changed. */
    readonly rows: number;
    /** Rows that were not rehearsed: all or none. */
    readonly left: number;
    readonly why: string | null;
  };
  /** Whether the rollback left the copy as it was before; null: it did not come that far. */
  readonly as_before: boolean | null;
  /** Rows the first apply wrote, and the seconds its batches took. */
  readonly loaded: { readonly count: number; readonly seconds: number } | null;
  /** All that was rehearsed went as planned, and nothing would have been refused. */
  readonly held: boolean;
}
