import type { MigrationError } from "../lib/error.ts";
import type { Change, Left, Outcome } from "../model/change.ts";
import type { BatchEntry, Span } from "../model/journal.ts";
import { type Ownership, ownershipOf } from "./ownership.ts";
import type { Excluded, Leg, Session } from "./part.ts";

/** A line of a plan that was left out or failed, and why. */
export interface Aside<L> {
  readonly line: L;
  readonly why: string;
}

export type Event<L> =
  | {
      readonly kind: "batch";
      /** Lines behind us. */
      readonly lines: number;
      readonly outcome: Outcome;
      /** Left out when they were asked once more. */
      readonly excluded: readonly Aside<L>[];
      /** Lines of machines that did not get to their end. */
      readonly failed: readonly Aside<L>[];
      /** Changes of ours that machines share, out of the scope of a way back. */
      readonly shared: number;
      /** Changes of ours of machines that are excluded from a way back. */
      readonly kept: number;
      /** Machines of which a change was left, and which one. */
      readonly stays: Excluded;
    }
  /** On request, before its end. */
  | { readonly kind: "stopped" }
  /** Ended amid a batch whose machines go one by one: the error to end with once the rest is reported. */
  | { readonly kind: "broke"; readonly error: MigrationError };

export const NOBODY: Excluded = new Map();
export const NOTHING: Outcome = { done: [], found: [], left: [] };

/** The precondition, run once, and whether it passed: from then on something may be written. */
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

/** A leg on its way, with what the journal said of it when it set out. */
export interface Walk<C extends Change, L> {
  readonly leg: Leg<C, L>;
  readonly session: Session;
  /** What is appended from here on speaks of batches behind us. */
  readonly ownership: Ownership;
  readonly guard: ReturnType<typeof guardOf>;
  readonly making: ReturnType<typeof guardOf>;
  /** What every entry of a batch begins with. */
  readonly about: (span: Span) => Pick<BatchEntry, "part" | "plan" | "from" | "to" | "at">;
}

export function walkOf<C extends Change, L>(leg: Leg<C, L>, session: Session): Walk<C, L> {
  const { plan } = leg;
  const part = leg.part.name;
  return {
    ...{ leg, session, guard: guardOf(leg.precondition) },
    making: guardOf(leg.making ?? (() => Promise.resolve())),
    ownership: ownershipOf(session.journal.entries(), part, plan),
    about: ({ from, to }) => ({ part, plan, from, to, at: session.now() }),
  };
}

/** How far a walk has come. */
export interface Sofar {
  readonly lines: number;
  readonly done: number;
}

/** A walk that has ended, in one. */
export interface Walked<L> {
  /** Changes made now, and those that were made already. */
  readonly done: number;
  readonly found: number;
  readonly left: readonly Left[];
  readonly excluded: readonly Aside<L>[];
  readonly failed: readonly Aside<L>[];
  readonly shared: number;
  readonly kept: number;
  readonly stays: Excluded;
  /** Stopped on request before the end. */
  readonly stopped: boolean;
  /** Why it ended amid a batch: to be thrown once the rest is reported. */
  readonly broke: MigrationError | null;
}

/** @param progress hears of the lines behind us after each batch */
export async function gather<L>(
  events: AsyncIterable<Event<L>>,
  progress: (lines: number) => void = () => undefined,
): Promise<Walked<L>> {
  let [done, found, shared, kept] = [0, 0, 0, 0];
  const lefts: Left[] = [];
  const excluded: Aside<L>[] = [];
  const failed: Aside<L>[] = [];
  const stays = new Map<string, string>();
  const ended = (how: Partial<Walked<L>>): Walked<L> => ({
    ...{ done, found, shared, kept, left: lefts, excluded, failed, stays },
    ...{ stopped: false, broke: null, ...how },
  });
  for await (const event of events) {
    if (event.kind === "stopped") return ended({ stopped: true });
    if (event.kind === "broke") return ended({ broke: event.error });
    const { outcome } = event;
    done += outcome.done.length;
    found += outcome.found.length;
    shared += event.shared;
    kept += event.kept;
    for (const left of outcome.left) lefts.push(left);
    excluded.push(...event.excluded);
    failed.push(...event.failed);
    for (const [machine, why] of event.stays) stays.set(machine, why);
    if (outcome.broke === undefined) progress(event.lines);
  }
  return ended({});
}

/** Two walks, the second after the first, as one. */
export function together<L>(one: Walked<L>, next: Walked<L>): Walked<L> {
  return {
    done: one.done + next.done,
    found: one.found + next.found,
    shared: one.shared + next.shared,
    kept: one.kept + next.kept,
    left: [...one.left, ...next.left],
    excluded: [...one.excluded, ...next.excluded],
    failed: [...one.failed, ...next.failed],
    stays: new Map([...one.stays, ...next.stays]),
    stopped: next.stopped,
    broke: next.broke,
  };
}

/** Machines of the changes that were left, with one of them. */
export function staysOf(changes: readonly Change[], left: readonly Left[]): Excluded {
  if (left.length === 0) return NOBODY;
  const whys = new Map(left.map(({ id, why }) => [id, why]));
  return new Map(
    changes.flatMap(({ id, machine }) => {
      const why = whys.get(id);
      return machine === null || why === undefined ? [] : [[machine, `${id} ${why}`] as const];
    }),
  );
}
