import type { MigrationError } from "../lib/error.ts";
import type { Change, Outcome, SkippedRow } from "../model/change.ts";
import type { Span } from "../model/journal.ts";
import { ownershipOf } from "./ownership.ts";
import type { Excluded, Leg, Session } from "./part.ts";

/** A skipped or failed line of a plan. */
export interface SkippedLine<L> {
  readonly line: L;
  readonly reason: string;
}

/** A completed or broken batch. */
export interface BatchResult<L> {
  /** Completed lines. */
  readonly lines: number;
  readonly outcome: Outcome;
  /** Excluded by the final check. */
  readonly excluded: readonly SkippedLine<L>[];
  /** Lines of machines that did not complete. */
  readonly failed: readonly SkippedLine<L>[];
  /** Our changes shared by machines, outside the rollback's scope. */
  readonly shared: number;
  /** Our changes of machines that are excluded from rollback. */
  readonly retained: number;
  /** Machines with a skipped change, and one such change. */
  readonly unchanged: Excluded;
}

/** Why a leg ended before its last line. */
export interface EarlyEnd {
  /** On request. */
  readonly stopped: boolean;
  /** Within a batch that is not atomic. Thrown after the report. */
  readonly broke: MigrationError | null;
}

export const STOPPED: EarlyEnd = { stopped: true, broke: null };

export const NONE: Excluded = new Map();
export const NOTHING: Outcome = { done: [], found: [], skipped: [] };

/** A precondition that runs once. After it passed, something may be written. */
function guardOf(precondition: () => Promise<void>) {
  let passed = false;
  return {
    passed: () => passed,
    async run(): Promise<void> {
      if (passed) return;
      await precondition();
      passed = true;
    },
  };
}

/** A leg in progress, with its ownership at the start. */
export type RunningLeg<C extends Change, L> = ReturnType<typeof runningLegOf<C, L>>;

export function runningLegOf<C extends Change, L>(leg: Leg<C, L>, session: Session) {
  const { plan } = leg;
  const part = leg.part.name;
  return {
    ...{ leg, session, guard: guardOf(leg.precondition) },
    making: guardOf(leg.making ?? (() => Promise.resolve())),
    /** Later journal entries are about completed batches. */
    ownership: ownershipOf(session.journal.entries(), part, plan),
    /** Common fields of batch entries. */
    about: ({ from, to }: Span) => ({ part, plan, from, to, at: session.now() }),
  };
}

export interface Walked<L> extends EarlyEnd {
  /** Changes made now, and made earlier. */
  readonly done: number;
  readonly found: number;
  readonly skipped: readonly SkippedRow[];
  readonly excluded: readonly SkippedLine<L>[];
  readonly failed: readonly SkippedLine<L>[];
  readonly shared: number;
  readonly retained: number;
  readonly unchanged: Excluded;
}

/** Machines with a skipped change, and one such change. */
export function unchangedOf(changes: readonly Change[], skipped: readonly SkippedRow[]): Excluded {
  if (skipped.length === 0) return NONE;
  const whys = new Map(skipped.map(({ id, reason }) => [id, reason]));
  return new Map(
    changes.flatMap(({ id, machine }) => {
      const text = whys.get(id);
      return machine === null || text === undefined ? [] : [[machine, `${id} ${text}`] as const];
    }),
  );
}
