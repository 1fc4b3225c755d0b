import type { JsonObject } from "../lib/json.ts";
import { type Entries, entriesOf } from "../model/journal.ts";

/** A change that a journal says was begun, and not taken back since. */
export interface Begun {
  /** What it was begun with, in order: a part reads it as it would any file. */
  readonly observed: readonly JsonObject[];
  /** Its end, or that of its way back, was not recorded: a crash may have left it half made. */
  readonly open: boolean;
  /** Its way back was begun last, and is not at its end. */
  readonly back?: true;
}

const NONE: readonly JsonObject[] = [];

/**
 * What a part that goes machine by machine began and did not take back since, in order, by id.
 *
 * @param below the part whose machines these are: what its rollbacks took away is gone with them
 */
export function begunIn(
  entries: Entries,
  part: string,
  below?: string,
): ReadonlyMap<string, Begun> {
  const begun = new Map<string, Begun>();
  for (const entry of entriesOf(entries, part, ...(below === undefined ? [] : [below]))) {
    if (entry.do === "undo" && entry.part === below)
      for (const id of entry.nodes === "all" ? [...begun.keys()] : entry.nodes) begun.delete(id);
    if (!("id" in entry) || entry.part !== part) continue;
    const { observed = NONE } = begun.get(entry.id) ?? {};
    switch (entry.do) {
      case "start":
        begun.set(entry.id, { observed: withMore(observed, entry), open: true });
        break;
      case "end":
        if (begun.has(entry.id)) begun.set(entry.id, { observed, open: false });
        break;
      case "return":
        if (begun.has(entry.id))
          begun.set(entry.id, { observed: withMore(observed, entry), open: true, back: true });
        break;
      case "returned":
        if (entry.left === undefined) begun.delete(entry.id);
        else begun.set(entry.id, { observed: [entry.left], open: false });
        break;
    }
  }
  return begun;
}

function withMore(
  known: readonly JsonObject[],
  { observed }: { readonly observed?: JsonObject },
): readonly JsonObject[] {
  return observed === undefined ? known : [...known, observed];
}
