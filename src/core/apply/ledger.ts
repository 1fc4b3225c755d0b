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
  /** Steps removed by a rollback and not begun again since. */
  readonly undone: ReadonlySet<string>;
  /** Steps a rollback left in place, as last told. */
  readonly left: ReadonlySet<string>;
  /** Rows ever created, as the ends of stretches have it. */
  readonly created: number;
  /** Rows of ours that are there, as recorded, by stretch. */
  readonly rows: ReadonlyMap<string, number>;
}

/** A stretch as `Ledger.rows` names it. */
export function stretchKey({ from, to }: Stretch): string {
  return `${from}-${to}`;
}

function sameStretch(left: Stretch, right: Stretch): boolean {
  return left.from === right.from && left.to === right.to;
}

/** Reads the journal forward, as it happened. */
export function ledgerOf(entries: readonly JournalEntry[], plan: string): Ledger {
  const begun: Stretch[] = [];
  let open: Stretch[] = [];
  const foreign = new Set<string>();
  const undone = new Map<string, Set<string>>();
  const rows = new Map<string, number>();
  const left = new Set<string>();
  let created = 0;
  for (const entry of entries) {
    if (entry.do === "open" || entry.plan !== plan) continue;
    const stretch = { from: entry.from, to: entry.to };
    const key = stretchKey(stretch);
    switch (entry.do) {
      case "begin":
        if (!begun.some((other) => sameStretch(other, stretch))) begun.push(stretch);
        if (!open.some((other) => sameStretch(other, stretch))) open.push(stretch);
        undone.delete(key);
        break;
      case "done":
        open = open.filter((other) => !sameStretch(other, stretch));
        created += entry.created;
        rows.set(key, (rows.get(key) ?? 0) + entry.created);
        for (const id of entry.found) foreign.add(id);
        break;
      case "undo":
        break;
      case "undone": {
        const gone = undone.get(key) ?? new Set();
        undone.set(key, gone);
        for (const id of entry.removed) {
          gone.add(id);
          left.delete(id);
        }
        rows.set(key, Math.max(0, (rows.get(key) ?? 0) - entry.removed.length));
        for (const id of entry.conflicts) left.add(id);
        break;
      }
    }
  }
  const back = new Set([...undone.values()].flatMap((ids) => [...ids]));
  return { begun, open, foreign, undone: back, left, created, rows };
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
