import type { Unrehearsed } from "../../../model/rehearsal.ts";

export interface RanCommand {
  /** With an option that changes its effect: `finish --undo`. */
  readonly command: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Null: the log has no end. */
  readonly seconds: number | null;
  readonly status: number | null;
  /** `done`, `refused`, or that no end was recorded. */
  readonly result: string;
  readonly by: string;
}

interface Rate {
  readonly count: number;
  readonly seconds: number;
}

export interface Measured {
  readonly ran: readonly RanCommand[];
  /** Rows that apply wrote, from the journal. */
  readonly loaded: Rate | null;
  /** Rows that apply wrote on copies, from the last rehearsal, if any. */
  readonly rehearsed?: Rate & { readonly nova: Unrehearsed };
  readonly handed: Rate | null;
}
