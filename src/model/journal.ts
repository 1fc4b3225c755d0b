import type { JsonObject } from "../lib/json.ts";

/** Of journal.jsonl, which all parts of a run share. */
export const JOURNAL_FORMAT = "nova2ironic/journal@2";

/** Lines of a part's plan: positions from 0, `to` exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** `left`: by --leave-nova. */
export type NovaAfter = "follows" | "left";

/** What every entry of a batch says: whose it is, of which plan, and when it was written. */
interface About extends Span {
  /** Name of the part. */
  readonly part: string;
  /** sha256 of the plan. */
  readonly plan: string;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** What became of a batch. Written before and after the act, so that a crash leaves no doubt. */
export type BatchEntry =
  | (About & {
      readonly do: "begin";
      readonly by: string;
      /** The load is to be handed over later. */
      readonly staged?: true;
      /** Whether this load changes Nova's rows behind Ironic's; absent for Nova's own legs. */
      readonly nova?: NovaAfter;
    })
  | (About & {
      /** Written before the commit: whose rows are whose must be known should `done` not be reached. */
      readonly do: "observed";
      /** As in `done`. */
      readonly found: readonly string[];
      /** Found there once or refused, and made by us now: ours to undo. */
      readonly taken: readonly string[];
    })
  | (About & {
      readonly do: "done";
      readonly created: number;
      /** Changes that somebody else had made already: never ours to undo. */
      readonly found: readonly string[];
      /** Machines that did not get to their end; only where each goes alone. */
      readonly failed?: readonly string[];
    })
  | (About & {
      /** What was begun ended with nothing kept; of a whole batch, only if it held nothing of ours. */
      readonly do: "aborted";
      /** Code of the refusal or failure, or that it was left out before it was begun. */
      readonly why: string;
      /** These alone: none is there by our hand, and none is ours before an `observed` takes it. */
      readonly rows?: readonly string[];
      /** The machines of these. */
      readonly machines?: readonly string[];
    })
  | (About & {
      readonly do: "undo";
      /** Uuids of the machines named, or the whole batch. */
      readonly nodes: readonly string[] | "all";
      /** All was asked for, and machines that are not named had to stay. */
      readonly all?: true;
      readonly by: string;
    })
  | (About & {
      readonly do: "undone";
      /** Taken back now. */
      readonly removed: number;
      /** Taken back already. */
      readonly gone: number;
      /** Of those left by a rollback before, the ones that are back now. */
      readonly settled: readonly string[];
      /** Left, as somebody changed them; those that a rollback before left may be missing. */
      readonly conflicts: readonly string[];
    });

/** What became of one change of a part that goes machine by machine. */
export type MachineEntry = {
  /** Name of the part. */
  readonly part: string;
  /** Of the change, unique in its part. */
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
} & (
  | {
      /** Written before the act. */
      readonly do: "start";
      readonly by: string;
      /** What the way back needs to know; the part reads it as it would any file. */
      readonly observed?: JsonObject;
    }
  | { readonly do: "end" }
  | {
      readonly do: "return";
      readonly by: string;
      /** What the rest of the way back needs to know besides. */
      readonly observed?: JsonObject;
    }
  | {
      readonly do: "returned";
      /** What was left, as somebody changed it; as `observed`. */
      readonly left?: JsonObject;
    }
);

/** Of the run itself: every machine is there and behind us, or it goes on. */
type RunEntry =
  | { readonly do: "close"; readonly plan: string; readonly at: string; readonly by: string }
  | { readonly do: "reopen"; readonly at: string; readonly by: string };

/** A system is acted on for the first time: which it is. */
interface TargetEntry {
  readonly do: "target";
  readonly system: string;
  /** Its identity, as it gave it; never a secret. */
  readonly target: JsonObject;
  /** Whether the load that begins is staged: it may be killed before its first batch. */
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

/** Entries of a journal, in order. */
export type Entries = readonly Entry[];

/** Entries of the run and of batches, in order. */
export function* besideMachines(entries: Entries): Generator<Exclude<Entry, MachineEntry>> {
  for (const entry of entries) if (!("id" in entry)) yield entry;
}

/** When a run acted on a system for the first time; absent where it did not. */
export function targetOf(entries: Entries, system: string): TargetEntry | undefined {
  for (const entry of besideMachines(entries))
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

/** The part whose batches are Ironic's machines, whichever way they are loaded. */
export const IRONIC = "ironic";

/** Entries of a part's batches, in their order. */
export function batchesOf(entries: Entries, ...parts: readonly string[]): BatchEntry[] {
  const found: BatchEntry[] = [];
  for (const entry of entriesOf(entries, ...parts)) if (!("id" in entry)) found.push(entry);
  return found;
}

/** Digests of all plans that a journal speaks of. */
export function plansNamed(entries: Entries): ReadonlySet<string> {
  return new Set([...besideMachines(entries)].flatMap((one) => ("plan" in one ? [one.plan] : [])));
}

/** The plans of which these parts began something, newest first. */
export function plansOf(entries: Entries, ...parts: readonly string[]): readonly string[] {
  const plans = batchesOf(entries, ...parts).flatMap((entry) =>
    entry.do === "begin" ? [entry.plan] : [],
  );
  return [...new Set(plans.reverse())];
}
