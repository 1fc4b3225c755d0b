import type { JsonObject } from "../lib/json.ts";
import { type Entries, entriesOf } from "../model/journal.ts";

/** By the journal, a change that was started and not reverted. */
export interface StartedChange {
  /** Data of its start entries, in order. A part validates it as it does any file. */
  readonly observed: readonly JsonObject[];
  /** Its end, or the end of its rollback, is missing: a crash may have left it incomplete. */
  readonly open: boolean;
  /** Its rollback is in progress. */
  readonly back?: true;
}

/**
 * Started and not reverted changes of a part that processes one machine at a time, in order, by id.
 * @param below part of these machines, whose rollbacks also remove them here
 */
export function startedChangesIn(
  entries: Entries,
  part: string,
  below?: string,
): ReadonlyMap<string, StartedChange> {
  const active = new Map<string, StartedChange>();
  for (const entry of entriesOf(entries, part, ...(below === undefined ? [] : [below]))) {
    if (entry.do === "undo" && entry.part === below)
      for (const id of entry.nodes === "all" ? [...active.keys()] : entry.nodes) active.delete(id);
    if (!("id" in entry) || entry.part !== part) continue;
    const { observed = [] } = active.get(entry.id) ?? {};
    switch (entry.do) {
      case "start":
      case "return": {
        const back = entry.do === "return" && { back: true as const };
        if (back && !active.has(entry.id)) break;
        const more = entry.observed === undefined ? [] : [entry.observed];
        active.set(entry.id, { observed: [...observed, ...more], open: true, ...back });
        break;
      }
      case "end":
        if (active.has(entry.id)) active.set(entry.id, { observed, open: false });
        break;
      case "returned":
        if (entry.left === undefined) active.delete(entry.id);
        else active.set(entry.id, { observed: [entry.left], open: false });
        break;
    }
  }
  return active;
}
