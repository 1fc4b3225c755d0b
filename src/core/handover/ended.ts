import { type Entry, IRONIC } from "../../model/journal.ts";

/**
 * When finish ended the run, and nothing was loaded, all guarded again or all taken back since. Single
 * machines that are guarded again do not go on with it: Nova manages the others.
 */
export function endOf(
  entries: readonly Entry[],
): { readonly at: string; readonly by: string } | null {
  const last = entries.findLastIndex((entry) => entry.do === "close");
  const end = entries[last];
  if (end?.do !== "close") return null;
  const goesOn = entries.slice(last).some((entry) => entry.do === "reopen" || isLoad(entry));
  return goesOn ? null : { at: end.at, by: end.by };
}

/** Whether something of Ironic was loaded, or all of it taken back. */
function isLoad(entry: Entry): boolean {
  if (entry.do !== "begin" && entry.do !== "undo") return false;
  return entry.part === IRONIC && (entry.do === "begin" || entry.nodes === "all");
}
