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

export type Event<L> =
  | {
      readonly kind: "batch";
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
  /** On request, before its end. */
  | { readonly kind: "stopped" }
  /** Ended within a batch that is not atomic. The error is thrown after the report. */
  | { readonly kind: "broke"; readonly error: MigrationError };

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

export interface ExecutionProgress {
  readonly lines: number;
  readonly done: number;
}

export interface Walked<L> {
  /** Changes made now, and made earlier. */
  readonly done: number;
  readonly found: number;
  readonly skipped: readonly SkippedRow[];
  readonly excluded: readonly SkippedLine<L>[];
  readonly failed: readonly SkippedLine<L>[];
  readonly shared: number;
  readonly retained: number;
  readonly unchanged: Excluded;
  /** Stopped on request before the end. */
  readonly stopped: boolean;
  /** Why it ended within a batch. Thrown after the report. */
  readonly broke: MigrationError | null;
}

/** @param progress receives the number of completed lines after each batch */
export async function gather<L>(
  events: AsyncIterable<Event<L>>,
  progress: (lines: number) => void = () => undefined,
): Promise<Walked<L>> {
  let [done, found, shared, retained] = [0, 0, 0, 0];
  const skipped: SkippedRow[] = [];
  const excluded: SkippedLine<L>[] = [];
  const failed: SkippedLine<L>[] = [];
  const unchanged = new Map<string, string>();
  const ended = (how: Partial<Walked<L>>): Walked<L> => ({
    ...{ done, found, shared, retained, skipped, excluded, failed, unchanged },
    ...{ stopped: false, broke: null, ...how },
  });
  for await (const event of events) {
    if (event.kind === "stopped") return ended({ stopped: true });
    if (event.kind === "broke") return ended({ broke: event.error });
    const { outcome } = event;
    done += outcome.done.length;
    found += outcome.found.length;
    shared += event.shared;
    retained += event.retained;
    for (const row of outcome.skipped) skipped.push(row);
    excluded.push(...event.excluded);
    failed.push(...event.failed);
    for (const [machine, reason] of event.unchanged) unchanged.set(machine, reason);
    if (outcome.broke === undefined) progress(event.lines);
  }
  return ended({});
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
