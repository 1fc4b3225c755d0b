import { batchesOf, type Entry, IRONIC } from "../model/journal.ts";

/** Machines a rollback was told to take from Ironic since the last load, by uuid, or all of them. */
export type TakenBack = ReadonlySet<string> | "all";

/** @returns null where none was */
export function takenBack(journal: readonly Entry[]): TakenBack | null {
  const entries = batchesOf(journal, IRONIC);
  if (!entries.some(({ do: what }) => what === "begin")) return null;
  const loaded = entries.findLastIndex(({ do: what }) => what === "begin");
  const nodes = entries
    .slice(loaded + 1)
    .flatMap((entry) => (entry.do === "undo" ? [entry.nodes] : []));
  if (nodes.length === 0) return null;
  return nodes.includes("all") ? "all" : new Set(nodes.flat());
}

/** Machines a command names; more of them are meant by a word. */
const NAMED = 8;

/** The options of `rollback` that take these back, for people to copy. */
export function scopeOptions(machines: TakenBack): {
  readonly all?: true;
  readonly node?: readonly string[];
} {
  if (machines === "all") return { all: true };
  return { node: machines.size > NAMED ? ["UUID"] : [...machines] };
}
