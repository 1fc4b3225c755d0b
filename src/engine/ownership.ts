import { type BatchEntry, batchesOf, type Entries, type Span } from "../model/journal.ts";

/** Machine uuids of a batch, or all machines. */
type Machines = ReadonlySet<string> | "all";

/** Ownership of a part's changes in a plan, by the journal. */
export interface Ownership {
  /** Started batches, with or without an end. */
  readonly started: readonly Span[];
  /** Started batches without an end. Only the target shows whether they were committed. */
  readonly open: readonly Span[];
  /** Changes that existed before this run. Rollback never reverts them. */
  readonly preExisting: ReadonlySet<string>;
  /** Refused or skipped, and not made later. Not ours. */
  readonly refused: ReadonlySet<string>;
  /** Reverted batches that were not started again, with the reverted machines. */
  readonly undone: ReadonlyMap<string, Machines>;
  /** Number of reverted changes that were not started again. */
  readonly back: number;
  /** Changes that a rollback skipped, by its last report. */
  readonly skipped: ReadonlySet<string>;
  /** Number of changes made. A change that was reverted and made again counts once. */
  readonly created: number;
  /** Number of our existing changes by batch, as recorded. */
  readonly rows: ReadonlyMap<string, number>;
  /** Machines of ended batches that never completed. */
  readonly failed: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Key of a batch in the maps of `Ownership`. */
export function keyOf({ from, to }: Span): string {
  return `${from}-${to}`;
}

interface BatchState {
  readonly span: Span;
  started: boolean;
  open: boolean;
  undone: Machines | undefined;
  /** Machines of a rollback that has started and not ended. */
  undoing: readonly string[] | "all" | undefined;
  /** Whether an earlier rollback also has no end. */
  cut: boolean;
  back: number;
  rows: number;
  failed: ReadonlySet<string> | undefined;
  /** Machines that the next start skips. */
  out: readonly string[];
  /** State before the last start. */
  earlier: Pick<BatchState, "started" | "undone" | "back"> | undefined;
}

function unknown(span: Span): BatchState {
  return {
    ...{ span, started: false, open: false, undone: undefined, undoing: undefined, cut: false },
    ...{ back: 0, rows: 0, failed: undefined, out: [], earlier: undefined },
  };
}

/** Reads the journal in order. */
export function ownershipOf(entries: Entries, part: string, plan: string): Ownership {
  const batches = new Map<string, BatchState>();
  const preExisting = new Set<string>();
  const refused = new Set<string>();
  const skipped = new Set<string>();
  let created = 0;
  for (const entry of batchesOf(entries, part)) {
    if (entry.plan !== plan) continue;
    const key = keyOf(entry);
    const batch = batches.get(key) ?? unknown({ from: entry.from, to: entry.to });
    batches.set(key, batch);
    created += read(batch, entry);
    if (entry.do === "observed" || entry.do === "done")
      for (const id of entry.found) preExisting.add(id);
    if (entry.do === "observed")
      for (const set of [preExisting, refused]) for (const id of entry.taken) set.delete(id);
    if (entry.do === "aborted") for (const id of entry.rows ?? []) refused.add(id);
    if (entry.do !== "undone") continue;
    for (const id of entry.settled) skipped.delete(id);
    for (const id of entry.conflicts) skipped.add(id);
  }
  const all = [...batches];
  const mapOf = <T>(of: (batch: BatchState) => T | undefined): ReadonlyMap<string, T> =>
    new Map(
      all.flatMap(([key, batch]) => {
        const value = of(batch);
        return value === undefined ? [] : [[key, value] as const];
      }),
    );
  return {
    started: all.flatMap(([, batch]) => (batch.started ? [batch.span] : [])),
    open: all.flatMap(([, batch]) => (batch.open ? [batch.span] : [])),
    ...{ preExisting, refused, skipped, created },
    undone: mapOf(({ undone }) => undone),
    back: all.reduce((sum, [, batch]) => sum + batch.back, 0),
    rows: mapOf(({ rows }) => rows),
    failed: mapOf(({ failed }) => failed),
  };
}

/** @returns change of the `created` count */
function read(batch: BatchState, entry: BatchEntry): number {
  switch (entry.do) {
    case "begin":
      return begin(batch);
    case "aborted":
      if (entry.rows === undefined) return abort(batch);
      batch.out = [...batch.out, ...(entry.machines ?? [])];
      return 0;
    case "observed":
      return 0;
    case "done":
      batch.open = false;
      batch.rows += entry.created;
      batch.failed = remainingFailed(batch.failed, [...(entry.failed ?? []), ...batch.out]);
      batch.out = [];
      return entry.created;
    case "undo":
      batch.cut = batch.undoing !== undefined;
      batch.undoing = entry.nodes;
      batch.failed =
        entry.nodes === "all" ? undefined : new Set([...(batch.failed ?? []), ...entry.nodes]);
      return 0;
    case "undone":
      batch.undone = mergeMachines(batch.undone, batch.undoing ?? []);
      batch.undoing = undefined;
      // Rows that are missing after a rollback without an end were reverted by that rollback.
      batch.back += entry.removed + (batch.cut ? entry.gone : 0);
      batch.rows = Math.max(0, batch.rows - entry.removed - entry.gone);
      return 0;
  }
}

function begin(batch: BatchState): number {
  const { started, undone, back } = batch;
  batch.earlier = { started, undone, back };
  batch.started = true;
  batch.open = true;
  batch.undone = undefined;
  batch.back = 0;
  return -back;
}

/** The last start committed nothing, so its previous state is restored. */
function abort(batch: BatchState): number {
  const { started = false, undone, back = 0 } = batch.earlier ?? {};
  batch.open = false;
  batch.started &&= started;
  batch.undone = undone ?? batch.undone;
  batch.back = back;
  return back;
}

/** A machine that was completed stays completed, also if a later run fails. */
function remainingFailed(
  before: ReadonlySet<string> | undefined,
  failed: readonly string[],
): ReadonlySet<string> {
  const now = new Set(failed);
  return before === undefined ? now : new Set([...before].filter((machine) => now.has(machine)));
}

function mergeMachines(before: Machines | undefined, more: readonly string[] | "all"): Machines {
  if (before === "all" || more === "all") return "all";
  return new Set([...(before ?? []), ...more]);
}

/** Whether a rollback of this change is recorded. */
export function wasUndone(
  { undone, skipped }: Ownership,
  span: Span,
  machine: string,
  id: string,
): boolean {
  const machines = undone.get(keyOf(span));
  if (machines === undefined || skipped.has(id)) return false;
  return machines === "all" || machines.has(machine);
}

/** Started, new at that time, not refused, and not reverted since. */
export function ownedIn(
  ownership: Ownership,
  span: Span,
): (change: { readonly id: string; readonly machine: string | null }) => boolean {
  const started = wasStarted(ownership, span);
  const { preExisting, refused } = ownership;
  return ({ id, machine }) =>
    started &&
    !preExisting.has(id) &&
    !refused.has(id) &&
    !wasUndone(ownership, span, machine ?? "", id);
}

/** Existing rows are then ours. After a full rollback, they belong to another run. */
export function wasStarted({ started, undone, skipped }: Ownership, span: Span): boolean {
  const isReverted = (other: Span): boolean =>
    skipped.size === 0 && undone.get(keyOf(other)) === "all";
  return started.some(
    (other) => other.from < span.to && span.from < other.to && !isReverted(other),
  );
}

/** Whether the machine was completed once, regardless of a later interrupted run. */
export function hasEnded({ failed }: Ownership, span: Span, machine: string): boolean {
  return failed.get(keyOf(span))?.has(machine) === false;
}
