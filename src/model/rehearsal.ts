import type { RefusalCode } from "../lib/refusals.ts";

export interface RehearsedStage {
  readonly stage: string;
  readonly seconds: number;
  readonly machines: number;
  /** Written, compared or removed. */
  readonly rows: number;
  /** Rows per second of the writes. Null without a measurable write. */
  readonly rate: number | null;
  /** `done`, or the fault. */
  readonly result: string;
}

/** Why the command would stop on the current target. */
export interface RehearsedRefusal {
  readonly stage: string;
  readonly code: RefusalCode;
  readonly message: string;
  readonly fix: string;
  /** How the rehearsal continued. Null if it ended. */
  readonly went_on: string | null;
}

export type Unrehearsed = Pick<Rehearsal["nova"], "left">;

/** `RUN/rehearsal.json`: the last rehearsal of a run. */
export interface Rehearsal {
  readonly format: "nova2ironic/rehearsal@1";
  readonly tool: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly by: string;
  readonly plan: string;
  readonly copies: readonly string[];
  readonly stages: readonly RehearsedStage[];
  readonly refusals: readonly RehearsedRefusal[];
  readonly nova: {
    readonly rows: number;
    /** Rows that were not rehearsed: all or none. */
    readonly left: number;
    readonly why: string | null;
  };
  /** Whether the rollback restored the copy. Null if it did not run. */
  readonly as_before: boolean | null;
  /** Rows of the first apply, and seconds of its batches. */
  readonly loaded: { readonly count: number; readonly seconds: number } | null;
  /** The rehearsal went as planned, and no command would be refused. */
  readonly held: boolean;
}
