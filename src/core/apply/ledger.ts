import type { JournalEntry } from "../../model/artefact.ts";

/** A stretch of a plan's machine lines: from 0, `to` exclusive. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** What a journal says of one plan. */
export interface Ledger {
  /** Stretches begun, whether or not their end was recorded. */
  readonly begun: readonly Stretch[];
  /** Begun, and no end was recorded: only the target knows whether they were kept. */
  readonly open: readonly Stretch[];
  /** Steps that were there before us: never ours to undo. */
  readonly foreign: ReadonlySet<string>;
  /** Steps removed again by a rollback. */
  readonly undone: ReadonlySet<string>;
  /** Steps a rollback left in place, as last told. */
  readonly left: ReadonlySet<string>;
  readonly created: number;
}

function sameStretch(left: Stretch, right: Stretch): boolean {
  return left.from === right.from && left.to === right.to;
}

/** Reads the journal forward, as it happened. */
export function ledgerOf(entries: readonly JournalEntry[], plan: string): Ledger {
  const begun: Stretch[] = [];
  let open: Stretch[] = [];
  const foreign = new Set<string>();
  const undone = new Set<string>();
  const left = new Set<string>();
  let created = 0;
  for (const entry of entries) {
    if (entry.do === "open" || entry.plan !== plan) continue;
    const stretch = { from: entry.from, to: entry.to };
    switch (entry.do) {
      case "begin":
        if (!begun.some((other) => sameStretch(other, stretch))) begun.push(stretch);
        if (!open.some((other) => sameStretch(other, stretch))) open.push(stretch);
        break;
      case "done":
        open = open.filter((other) => !sameStretch(other, stretch));
        created += entry.created;
        for (const id of entry.found) foreign.add(id);
        break;
      case "undo":
        break;
      case "undone":
        for (const id of entry.removed) {
          undone.add(id);
          left.delete(id);
        }
        for (const id of entry.conflicts) left.add(id);
        break;
    }
  }
  return { begun, open, foreign, undone, left, created };
}

/** The plans a journal speaks of, newest first. */
export function plansOf(entries: readonly JournalEntry[]): readonly string[] {
  const plans = entries.flatMap((entry) => (entry.do === "begin" ? [entry.plan] : []));
  return [...new Set(plans.reverse())];
}

/** Whether the stretch was begun before, so that what is found there now is our own work. */
export function wasBegun({ begun }: Ledger, stretch: Stretch): boolean {
  return begun.some((other) => other.from < stretch.to && stretch.from < other.to);
}
