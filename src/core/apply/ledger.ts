import type { JournalEntry } from "../../model/artefact.ts";

/** A stretch of a plan's machine lines: from 0, `to` exclusive. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** Uuids of some machines of a stretch, or all of them. */
type Machines = ReadonlySet<string> | "all";

/** What a journal says of one plan. */
export interface Ledger {
  /** Stretches begun, whether or not their end was recorded. */
  readonly begun: readonly Stretch[];
  /** Begun, and no end was recorded: only the target knows whether they were kept. */
  readonly open: readonly Stretch[];
  /** Steps that were there before us: never ours to undo. */
  readonly foreign: ReadonlySet<string>;
  /** Rows that were refused to us or left out, and not taken up again since: not ours. */
  readonly refused: ReadonlySet<string>;
  /** Stretches rolled back and not begun again since, by key: which machines of them. */
  readonly undone: ReadonlyMap<string, Machines>;
  /** Rows a rollback took away and that were not begun again since. */
  readonly back: number;
  /** Steps a rollback left in place, as last told. */
  readonly left: ReadonlySet<string>;
  /** Rows created, as the ends of stretches have it; one taken back and created again counts once. */
  readonly created: number;
  /** Rows of ours that are there, as recorded, by stretch. */
  readonly rows: ReadonlyMap<string, number>;
  /** Of each stretch that ended once, the nodes that never got to their end. */
  readonly failed: ReadonlyMap<string, ReadonlySet<string>>;
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
  let begun: Stretch[] = [];
  let open: Stretch[] = [];
  const foreign = new Set<string>();
  const refused = new Set<string>();
  const undone = new Map<string, Machines>();
  /** Begun and without an end: which machines are being taken back. */
  const undoing = new Map<string, readonly string[] | "all">();
  /** What was so before a stretch was begun last. */
  const earlier = new Map<string, { begun: boolean; undone: Machines | undefined; back: number }>();
  /** Whether the one before it was begun and had no end. */
  const cut = new Map<string, boolean>();
  const back = new Map<string, number>();
  const rows = new Map<string, number>();
  const left = new Set<string>();
  const failed = new Map<string, ReadonlySet<string>>();
  /** Nodes that were left out of what is begun next. */
  const out = new Map<string, Set<string>>();
  let created = 0;
  for (const entry of entries) {
    if (entry.do === "open" || entry.plan !== plan) continue;
    const stretch = { from: entry.from, to: entry.to };
    const key = stretchKey(stretch);
    switch (entry.do) {
      case "begin": {
        const known = begun.some((other) => sameStretch(other, stretch));
        earlier.set(key, { begun: known, undone: undone.get(key), back: back.get(key) ?? 0 });
        if (!known) begun.push(stretch);
        if (!open.some((other) => sameStretch(other, stretch))) open.push(stretch);
        undone.delete(key);
        created -= back.get(key) ?? 0;
        back.delete(key);
        break;
      }
      case "void": {
        if (entry.rows !== undefined) {
          for (const id of entry.rows) refused.add(id);
          out.set(key, new Set([...(out.get(key) ?? []), ...entry.rows.flatMap(nodeIn)]));
          break;
        }
        const before = earlier.get(key);
        open = open.filter((other) => !sameStretch(other, stretch));
        if (before?.begun === false) begun = begun.filter((other) => !sameStretch(other, stretch));
        if (before?.undone !== undefined) undone.set(key, before.undone);
        back.set(key, before?.back ?? 0);
        created += before?.back ?? 0;
        break;
      }
      case "met":
        for (const id of entry.found) foreign.add(id);
        for (const set of [foreign, refused]) for (const id of entry.taken) set.delete(id);
        break;
      case "done":
        open = open.filter((other) => !sameStretch(other, stretch));
        created += entry.created;
        rows.set(key, (rows.get(key) ?? 0) + entry.created);
        for (const id of entry.found) foreign.add(id);
        failed.set(key, stillFailed(failed.get(key), entry.failed ?? [], out.get(key)));
        out.delete(key);
        break;
      case "undo":
        cut.set(key, undoing.has(key));
        undoing.set(key, entry.nodes);
        if (entry.nodes === "all") failed.delete(key);
        else failed.set(key, new Set([...(failed.get(key) ?? []), ...entry.nodes]));
        break;
      case "undone": {
        const { removed, gone } = entry;
        undone.set(key, together(undone.get(key), undoing.get(key) ?? []));
        undoing.delete(key);
        // What a rollback found away after one that did not live to record it, that one took.
        back.set(key, (back.get(key) ?? 0) + removed + (cut.get(key) === true ? gone : 0));
        rows.set(key, Math.max(0, (rows.get(key) ?? 0) - removed - gone));
        for (const id of entry.settled) left.delete(id);
        for (const id of entry.conflicts) left.add(id);
        break;
      }
    }
  }
  const sum = [...back.values()].reduce((all, more) => all + more, 0);
  return { begun, open, foreign, refused, undone, back: sum, left, created, rows, failed };
}

function nodeIn(row: string): readonly string[] {
  return row.startsWith("node:") ? [row.slice("node:".length)] : [];
}

/** What ended once stays ended, whatever becomes of it in a later run. */
function stillFailed(
  before: ReadonlySet<string> | undefined,
  failed: readonly string[],
  out: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  const now = new Set([...failed, ...out]);
  return before === undefined ? now : new Set([...before].filter((node) => now.has(node)));
}

function together(before: Machines | undefined, more: readonly string[] | "all"): Machines {
  if (before === "all" || more === "all") return "all";
  return new Set([...(before ?? []), ...more]);
}

/** Whether a rollback was recorded to have taken a row of a machine away. */
export function wasUndone(
  { undone, left }: Ledger,
  stretch: Stretch,
  machine: string,
  row: string,
): boolean {
  const machines = undone.get(stretchKey(stretch));
  if (machines === undefined || left.has(row)) return false;
  return machines === "all" || machines.has(machine);
}

/**
 * Whether a row that is there now is our own work: its stretch was begun, it was not found there
 * before us or refused to us, and no rollback of ours took it away since. What is there after one is another run's.
 */
export function isOurs(ledger: Ledger, stretch: Stretch, machine: string, row: string): boolean {
  return (
    wasBegun(ledger, stretch) &&
    !ledger.foreign.has(row) &&
    !ledger.refused.has(row) &&
    !wasUndone(ledger, stretch, machine, row)
  );
}

/** The plans a journal speaks of, newest first. */
export function plansOf(entries: readonly JournalEntry[]): readonly string[] {
  const plans = entries.flatMap((entry) => (entry.do === "begin" ? [entry.plan] : []));
  return [...new Set(plans.reverse())];
}

/**
 * Whether the stretch was begun before, so that what is found there now is our own work. Once all
 * of it was taken back it no longer is: what is found then, another run loaded.
 */
export function wasBegun(ledger: Ledger, stretch: Stretch): boolean {
  return ledger.begun.some(
    (other) => other.from < stretch.to && stretch.from < other.to && !wasTakenBack(ledger, other),
  );
}

function wasTakenBack({ undone, left }: Ledger, stretch: Stretch): boolean {
  return left.size === 0 && undone.get(stretchKey(stretch)) === "all";
}

/** Whether a machine's stretch ended once, and the machine with it; a later run that was cut changes nothing of that. */
export function hasEnded({ failed }: Ledger, stretch: Stretch, node: string): boolean {
  return failed.get(stretchKey(stretch))?.has(node) === false;
}

/** Whether the stretch was begun and its end is not recorded. */
export function isOpen({ open }: Ledger, stretch: Stretch): boolean {
  return open.some((other) => other.from < stretch.to && stretch.from < other.to);
}
