import type { JsonObject } from "../lib/json.ts";

/** Format of journal.jsonl, which all parts of a run share. */
export const JOURNAL_FORMAT = "nova2ironic/journal@2";

/** Lines of a part's plan, from 0, `to` exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** `left`: by --leave-nova. */
export type NovaAfter = "follows" | "left";

interface About extends Span {
  readonly part: string;
  /** sha256 of the plan. */
  readonly plan: string;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** Written before and after each batch, so that its result is known after a crash. */
export type BatchEntry =
  | (About & {
      readonly do: "begin";
      readonly by: string;
      /** The load is staged for a later hand-over. */
      readonly staged?: true;
      /** Whether this load also changes Nova's rows. Absent in Nova's own entries. */
      readonly nova?: NovaAfter;
    })
  | (About & {
      /** Written before the commit, so that ownership is known without `done`. */
      readonly do: "observed";
      /** As in `done`. */
      readonly found: readonly string[];
      /** Previously found or refused, and now created by us, so rollback reverts them. */
      readonly taken: readonly string[];
    })
  | (About & {
      readonly do: "done";
      readonly created: number;
      /** Changes that existed before. Rollback never reverts them. */
      readonly found: readonly string[];
      /** Failed machines, if the part processes one machine at a time. */
      readonly failed?: readonly string[];
    })
  | (About & {
      /** Nothing was committed. For a whole batch: only if it has nothing of ours. */
      readonly do: "aborted";
      /** Code of the failure, or the reason to skip it. */
      readonly why: string;
      /** These rows only. None is ours until an `observed` takes it. */
      readonly rows?: readonly string[];
      /** Machines of these rows. */
      readonly machines?: readonly string[];
    })
  | (About & {
      readonly do: "undo";
      /** Uuids of named machines, or the whole batch. */
      readonly nodes: readonly string[] | "all";
      /** All machines were requested, but those not listed had to be skipped. */
      readonly all?: true;
      readonly by: string;
    })
  | (About & {
      readonly do: "undone";
      /** Reverted now. */
      readonly removed: number;
      /** Reverted before. */
      readonly gone: number;
      /** Reverted now after an earlier rollback skipped them. */
      readonly settled: readonly string[];
      /** Skipped because of other changes. May omit those of an earlier rollback. */
      readonly conflicts: readonly string[];
    });

/** Entries of a part that processes one machine at a time. */
export type MachineEntry = {
  readonly part: string;
  /** Id of the change, unique in its part. */
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
} & (
  | {
      /** Written before the change, or before its rollback. */
      readonly do: "start" | "return";
      readonly by: string;
      /** Data for rollback, or for the rest of it. The part validates it as it does any file. */
      readonly observed?: JsonObject;
    }
  | { readonly do: "end" }
  | {
      readonly do: "returned";
      /** Skipped because of other changes. See `observed`. */
      readonly left?: JsonObject;
    }
);

/** Entries of the run: completed, or resumed. */
type RunEntry =
  | { readonly do: "close"; readonly plan: string; readonly at: string; readonly by: string }
  | { readonly do: "reopen"; readonly at: string; readonly by: string };

/** First write to a system, with its identity. */
interface TargetEntry {
  readonly do: "target";
  readonly system: string;
  /** Identity without secrets. */
  readonly target: JsonObject;
  /** Whether the load is staged, in case it is killed before its first batch. */
  readonly staged?: true;
  readonly at: string;
}

interface OpenEntry {
  readonly do: "open";
  readonly format: typeof JOURNAL_FORMAT;
  readonly tool: string;
}

/** A line of journal.jsonl. */
export type Entry = (OpenEntry | TargetEntry | BatchEntry) | (MachineEntry | RunEntry);

export type Entries = readonly Entry[];

/** Entries of the run and of batches, in order. */
export function* runEntries(entries: Entries): Generator<Exclude<Entry, MachineEntry>> {
  for (const entry of entries) if (!("id" in entry)) yield entry;
}

/** First write of the run to a system. Undefined: none. */
export function targetOf(entries: Entries, system: string): TargetEntry | undefined {
  for (const entry of runEntries(entries))
    if (entry.do === "target" && entry.system === system) return entry;
  return undefined;
}

/** Entries of parts, in order. */
export function* entriesOf(
  entries: Entries,
  ...parts: readonly string[]
): Generator<Extract<Entry, { readonly part: string }>> {
  for (const entry of entries) if ("part" in entry && parts.includes(entry.part)) yield entry;
}

/** Part name of Ironic's machines, for all backends. */
export const IRONIC = "ironic";

/** Entries of a part's batches, in order. */
export function batchesOf(entries: Entries, ...parts: readonly string[]): BatchEntry[] {
  const found: BatchEntry[] = [];
  for (const entry of entriesOf(entries, ...parts)) if (!("id" in entry)) found.push(entry);
  return found;
}

export function plansIn(entries: Entries): ReadonlySet<string> {
  return new Set([...runEntries(entries)].flatMap((one) => ("plan" in one ? [one.plan] : [])));
}

/** Plans that these parts started, newest first. */
export function plansOf(entries: Entries, ...parts: readonly string[]): readonly string[] {
  const plans = batchesOf(entries, ...parts).flatMap((entry) =>
    entry.do === "begin" ? [entry.plan] : [],
  );
  return [...new Set(plans.reverse())];
}
