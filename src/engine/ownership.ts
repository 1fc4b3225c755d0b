import { type BatchEntry, batchesOf, type Entries, type Span } from "../model/journal.ts";

/** Uuids of some machines of a batch, or all of them. */
type Machines = ReadonlySet<string> | "all";

/** What a journal says of one part's plan: which of what is there is ours. */
export interface Ownership {
  /** Batches begun, whether or not their end was recorded. */
  readonly begun: readonly Span[];
  /** Begun, and no end was recorded: only the target knows whether they were kept. */
  readonly open: readonly Span[];
  /** Changes that were there before us: never ours to undo. */
  readonly preExisting: ReadonlySet<string>;
  /** Refused to us or left out, and not taken up again since: not ours. */
  readonly refused: ReadonlySet<string>;
  /** Batches rolled back and not begun again since, by key: which machines of them. */
  readonly undone: ReadonlyMap<string, Machines>;
  /** Changes a rollback took back and that were not begun again since. */
  readonly back: number;
  /** Changes a rollback left in place, as last reported. */
  readonly left: LeftBack;
  /** Changes made, as the ends of batches have it; one taken back and made again counts once. */
  readonly created: number;
  /** Changes of ours that are there, as recorded, by batch. */
  readonly rows: ReadonlyMap<string, number>;
  /** Of each batch that ended once, the machines that never got to their end. */
  readonly failed: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Changes left in place: there may be hundreds of thousands, so the journal is asked for those of a batch. */
interface LeftBack {
  /** Of all batches: each is gone through. */
  readonly size: () => number;
  readonly isEmpty: () => boolean;
  readonly of: (span: Span) => ReadonlySet<string>;
}

/** A batch as the maps of `Ownership` name it. */
export function keyOf({ from, to }: Span): string {
  return `${from}-${to}`;
}

interface Known {
  readonly span: Span;
  begun: boolean;
  open: boolean;
  undone: Machines | undefined;
  /** A rollback was begun and has no end: which machines it takes back. */
  undoing: readonly string[] | "all" | undefined;
  /** Whether the rollback before that was begun and had no end. */
  cut: boolean;
  back: number;
  rows: number;
  failed: ReadonlySet<string> | undefined;
  /** Machines left out of what is begun next. */
  out: readonly string[];
  /** What was so before it was begun last. */
  earlier: Pick<Known, "begun" | "undone" | "back"> | undefined;
}

function unknown(span: Span): Known {
  return {
    ...{ span, begun: false, open: false, undone: undefined, undoing: undefined, cut: false },
    ...{ back: 0, rows: 0, failed: undefined, out: [], earlier: undefined },
  };
}

/** Reads the journal forward, as it happened. */
export function ownershipOf(entries: Entries, part: string, plan: string): Ownership {
  const batches = new Map<string, Known>();
  const preExisting = new Set<string>();
  const refused = new Set<string>();
  const taken: UndoneEntry[] = [];
  let created = 0;
  for (const entry of batchesOf(entries, part)) {
    if (entry.plan !== plan) continue;
    const key = keyOf(entry);
    const known = batches.get(key) ?? unknown({ from: entry.from, to: entry.to });
    batches.set(key, known);
    created += read(known, entry);
    if (entry.do === "observed" || entry.do === "done")
      for (const id of entry.found) preExisting.add(id);
    if (entry.do === "observed")
      for (const set of [preExisting, refused]) for (const id of entry.taken) set.delete(id);
    if (entry.do === "aborted") for (const id of entry.rows ?? []) refused.add(id);
    if (entry.do === "undone") taken.push(entry);
  }
  const all = [...batches];
  const mapOf = <T>(of: (known: Known) => T | undefined): ReadonlyMap<string, T> =>
    new Map(
      all.flatMap(([key, known]) => {
        const value = of(known);
        return value === undefined ? [] : [[key, value] as const];
      }),
    );
  return {
    begun: all.flatMap(([, known]) => (known.begun ? [known.span] : [])),
    open: all.flatMap(([, known]) => (known.open ? [known.span] : [])),
    ...{ preExisting, refused, left: leftBy(taken), created },
    undone: mapOf(({ undone }) => undone),
    back: all.reduce((sum, [, known]) => sum + known.back, 0),
    rows: mapOf(({ rows }) => rows),
    failed: mapOf(({ failed }) => failed),
  };
}

type UndoneEntry = Extract<BatchEntry, { readonly do: "undone" }>;

/** @param undone in the order of the journal */
function leftBy(undone: readonly UndoneEntry[]): LeftBack {
  let last: { readonly span: Span; readonly ids: ReadonlySet<string> } | null = null;
  const of = (span: Span): ReadonlySet<string> => {
    if (last?.span.from === span.from && last.span.to === span.to) return last.ids;
    const ids = new Set<string>();
    for (const { from, to, settled, conflicts } of undone) {
      if (to <= span.from || span.to <= from) continue;
      for (const id of settled) ids.delete(id);
      for (const id of conflicts) ids.add(id);
    }
    last = { span, ids };
    return ids;
  };
  let empty: boolean | null = null;
  return {
    of,
    size: () => apart(undone).reduce((sum, span) => sum + of(span).size, 0),
    isEmpty: () => (empty ??= apart(undone).every((span) => of(span).size === 0)),
  };
}

/** Spans as one where they overlap, as batches do that were cut otherwise. */
function apart(spans: readonly Span[]): readonly Span[] {
  const found: { from: number; to: number }[] = [];
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    const last = found.at(-1);
    if (last === undefined || last.to <= from) found.push({ from, to });
    else last.to = Math.max(last.to, to);
  }
  return found;
}

/** @returns by how much it changes what counts as created */
function read(known: Known, entry: BatchEntry): number {
  switch (entry.do) {
    case "begin":
      return begin(known);
    case "aborted":
      if (entry.rows === undefined) return abort(known);
      known.out = [...known.out, ...(entry.machines ?? [])];
      return 0;
    case "observed":
      return 0;
    case "done":
      known.open = false;
      known.rows += entry.created;
      known.failed = stillFailed(known.failed, [...(entry.failed ?? []), ...known.out]);
      known.out = [];
      return entry.created;
    case "undo":
      known.cut = known.undoing !== undefined;
      known.undoing = entry.nodes;
      known.failed =
        entry.nodes === "all" ? undefined : new Set([...(known.failed ?? []), ...entry.nodes]);
      return 0;
    case "undone":
      known.undone = together(known.undone, known.undoing ?? []);
      known.undoing = undefined;
      // What a rollback found away after one that did not live to record it, that one took.
      known.back += entry.removed + (known.cut ? entry.gone : 0);
      known.rows = Math.max(0, known.rows - entry.removed - entry.gone);
      return 0;
  }
}

function begin(known: Known): number {
  const { begun, undone, back } = known;
  known.earlier = { begun, undone, back };
  known.begun = true;
  known.open = true;
  known.undone = undefined;
  known.back = 0;
  return -back;
}

/** Nothing of what was begun last was kept: all is as it was before. */
function abort(known: Known): number {
  const { begun = false, undone, back = 0 } = known.earlier ?? {};
  known.open = false;
  known.begun &&= begun;
  known.undone = undone ?? known.undone;
  known.back = back;
  return back;
}

/** What ended once stays ended, whatever becomes of it in a later run. */
function stillFailed(
  before: ReadonlySet<string> | undefined,
  failed: readonly string[],
): ReadonlySet<string> {
  const now = new Set(failed);
  return before === undefined ? now : new Set([...before].filter((machine) => now.has(machine)));
}

function together(before: Machines | undefined, more: readonly string[] | "all"): Machines {
  if (before === "all" || more === "all") return "all";
  return new Set([...(before ?? []), ...more]);
}

/** Whether a rollback was recorded to have taken a change of a machine back. */
export function wasUndone(
  { undone, left }: Ownership,
  span: Span,
  machine: string,
  id: string,
): boolean {
  const machines = undone.get(keyOf(span));
  if (machines === undefined || left.of(span).has(id)) return false;
  return machines === "all" || machines.has(machine);
}

/**
 * Whether a change of a batch that is there now is our own work: the batch was begun, it was not found there before
 * us or refused to us, and no rollback of ours took it back since. What is there after one is another run's.
 */
export function ownedIn(
  ownership: Ownership,
  span: Span,
): (change: { readonly id: string; readonly machine: string | null }) => boolean {
  const begun = wasBegun(ownership, span);
  const { preExisting, refused } = ownership;
  return ({ id, machine }) =>
    begun &&
    !preExisting.has(id) &&
    !refused.has(id) &&
    !wasUndone(ownership, span, machine ?? "", id);
}

/**
 * Whether the batch was begun before, so that what is found there now is our own work. Once all of it
 * was taken back it no longer is: what is found then, another run made.
 */
export function wasBegun(ownership: Ownership, span: Span): boolean {
  return ownership.begun.some(
    (other) => other.from < span.to && span.from < other.to && !wasTakenBack(ownership, other),
  );
}

/**
 * The same for one position of the plan after the other: each batch is looked at once, however many positions are
 * asked about.
 */
export function begunAt(ownership: Ownership): (position: number) => boolean {
  const ours = ownership.begun.filter((span) => !wasTakenBack(ownership, span));
  const begun = new Uint8Array(ours.reduce((end, { to }) => Math.max(end, to), 0));
  for (const { from, to } of ours) begun.fill(1, from, to);
  return (position) => begun[position] === 1;
}

function wasTakenBack({ undone, left }: Ownership, span: Span): boolean {
  return undone.get(keyOf(span)) === "all" && left.isEmpty();
}

/** Whether a machine's batch ended once, and the machine with it; a later run that was cut changes nothing of that. */
export function hasEnded({ failed }: Ownership, span: Span, machine: string): boolean {
  return failed.get(keyOf(span))?.has(machine) === false;
}
