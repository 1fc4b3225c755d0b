import type { JournalEntry } from "../../model/artefact.ts";
import type { FinishEntry } from "../../model/finish.ts";

/**
 * When finish ended the run, and nothing was loaded, all guarded again or all taken back since. Single
 * machines that are guarded again do not go on with it: Nova manages the others.
 */
export function endOf(
  entries: readonly FinishEntry[],
  journal: readonly JournalEntry[],
): { readonly at: string; readonly by: string } | null {
  const last = entries.findLastIndex((entry) => entry.do === "end");
  const end = entries[last];
  const undone = entries.slice(last).some((entry) => entry.do === "reopen");
  if (end?.do !== "end" || undone) return null;
  const goesOn = journal.some(
    (entry) =>
      (entry.do === "begin" || (entry.do === "undo" && entry.nodes === "all")) && entry.at > end.at,
  );
  return goesOn ? null : { at: end.at, by: end.by };
}
