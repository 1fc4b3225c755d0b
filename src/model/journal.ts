import { isObject, type Json } from "../lib/json.ts";

/** Format of journal.jsonl, which all parts of a run share. */
export const JOURNAL_FORMAT = "nova2ironic/journal@2";

/** Lines of a part's plan, from 0, `to` exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export const IS = {
  text: isText,
  texts: isTexts,
  /** A nonnegative integer. */
  number: (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
  object: isObject,
  /** Uuids, or the whole batch. */
  nodes: (value: unknown): value is readonly string[] | "all" => value === "all" || isTexts(value),
  yes: (value: unknown): value is true => value === true,
  boolean: (value: unknown): value is boolean => typeof value === "boolean",
  textOrNull: (value: unknown): value is string | null => value === null || isText(value),
  json: (value: unknown): value is Json => value !== undefined,
};

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

type Form = keyof typeof IS;
type Is<F extends Form> = (typeof IS)[F] extends (value: unknown) => value is infer T ? T : never;

/** Types of a line's fields. `?` is optional. */
export interface LineForm {
  readonly [field: string]: Form | `${Form}?`;
}

export type Formed<F extends LineForm> = {
  readonly [N in keyof F as F[N] extends Form ? N : never]: F[N] extends Form ? Is<F[N]> : never;
} & {
  readonly [N in keyof F as F[N] extends Form ? never : N]?: F[N] extends `${infer T extends Form}?`
    ? Is<T>
    : never;
};

/** `plan` is its sha256, `at` ISO 8601 in UTC. */
const BATCH = { part: "text", plan: "text", from: "number", to: "number", at: "text" } as const;

/** `id` is that of the change, unique in its part. */
const MACHINE = { part: "text", id: "text", at: "text" } as const;

export const FORMS = {
  open: { format: "text", tool: "text" },
  /** First write to a system. `staged`: in case the load is killed before its first batch. */
  target: { system: "text", target: "object", staged: "yes?", at: "text" },

  // Written before and after each batch, so that its result is known after a crash.
  /** `nova`: `follows` if this load also changes Nova's rows, `left` by --leave-nova. */
  begin: { ...BATCH, by: "text", staged: "yes?", nova: "text?" },
  /**
   * Written before the commit, so that ownership is known without `done`. `taken`: previously found
   * or refused, and now created by us, so rollback reverts them.
   */
  observed: { ...BATCH, found: "texts", taken: "texts" },
  /** `found`: existed before, so rollback never reverts them. `failed`: machines. */
  done: { ...BATCH, created: "number", found: "texts", failed: "texts?" },
  /**
   * Nothing was committed. For a whole batch: only if it has nothing of ours. `rows`: these only.
   * None is ours until an `observed` takes it. `why`: a code or a reason to skip.
   */
  aborted: { ...BATCH, why: "text", rows: "texts?", machines: "texts?" },
  /** `all`: all machines were requested, but those not listed had to be skipped. */
  undo: { ...BATCH, by: "text", nodes: "nodes", all: "yes?" },
  /**
   * `gone`: reverted before. `settled`: reverted now after an earlier rollback skipped them.
   * `conflicts`: skipped because of other changes. May omit those of an earlier rollback.
   */
  undone: { ...BATCH, removed: "number", gone: "number", settled: "texts", conflicts: "texts" },

  // Of a part that processes one machine at a time.
  /** Written before the change. `observed`: data for rollback, which the part validates. */
  start: { ...MACHINE, by: "text", observed: "object?" },
  end: MACHINE,
  return: { ...MACHINE, by: "text", observed: "object?" },
  /** `left`: as `observed`, for the rest of a rollback that skipped other changes. */
  returned: { ...MACHINE, left: "object?" },

  // Of the run: completed, or resumed.
  close: { plan: "text", at: "text", by: "text" },
  reopen: { at: "text", by: "text" },
} as const satisfies { readonly [doing: string]: LineForm };

export type Entry = {
  [D in keyof typeof FORMS]: { readonly do: D } & Formed<(typeof FORMS)[D]>;
}[keyof typeof FORMS];

export type BatchEntry = Extract<Entry, Span>;

export type MachineEntry = Extract<Entry, { readonly id: string }>;

export type Entries = readonly Entry[];

/** Entries of the run and of batches, in order. */
export function* runEntries(entries: Entries): Generator<Exclude<Entry, MachineEntry>> {
  for (const entry of entries) if (!("id" in entry)) yield entry;
}

/** First write of the run to a system. Undefined: none. */
export function targetOf(entries: Entries, system: string) {
  for (const entry of runEntries(entries))
    if (entry.do === "target" && entry.system === system) return entry;
  return undefined;
}

export function* entriesOf(
  entries: Entries,
  ...parts: readonly string[]
): Generator<Extract<Entry, { readonly part: string }>> {
  for (const entry of entries) if ("part" in entry && parts.includes(entry.part)) yield entry;
}

/** Part name of Ironic's machines, for all backends. */
export const IRONIC = "ironic";

export function batchesOf(entries: Entries, ...parts: readonly string[]): BatchEntry[] {
  return [...entriesOf(entries, ...parts)].flatMap((entry) => ("id" in entry ? [] : entry));
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
