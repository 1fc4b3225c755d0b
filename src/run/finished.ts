import { type StartedChange, startedChangesIn } from "../engine/started.ts";
import { MigrationError } from "../lib/error.ts";
import { FINISH } from "../model/handover.ts";
import { type Entries, IRONIC, runEntries } from "../model/journal.ts";
import { readJournal } from "./files/journal.ts";
import { fields } from "./files/journal-entries.ts";
import { loadTables, releaseNames } from "./files/load-tables.ts";
import type { RunFolder } from "./files/run-folder.ts";

/** Since Stein. Reads only tables, because reading all documents takes a fifth of `status`. */
export function knowsGuards(release: string): boolean {
  const isSupported = releaseNames().includes(release);
  const columns = isSupported ? loadTables("ironic", release).tables.nodes?.columns : undefined;
  return (columns ?? []).some(({ name }) => name === "protected" || name === "automated_clean");
}

/** When finish ended this run. Null if it did not, or if the run was resumed. */
export async function endOfRun(
  run: Pick<RunFolder, "path">,
): Promise<{ readonly at: string; readonly by: string } | null> {
  return endOf((await readJournal(run)).entries);
}

/** @param what intended action on machines that Nova may manage @throws MigrationError N2I-E321 */
export async function checkNotFinished(
  run: Pick<RunFolder, "path">,
  what: string,
  { afterFinish, plan = false }: { readonly afterFinish: boolean; readonly plan?: boolean },
): Promise<void> {
  const end = afterFinish || plan ? null : await endOfRun(run);
  if (end !== null)
    throw new MigrationError("N2I-E321", `finish ended this run at ${end.at}; ${what}`);
}

/**
 * When finish ended the run. Null after a new load, or after a full undo or rollback. Single
 * machines do not resume the run, because Nova manages the others.
 */
export function endOf(entries: Entries): { readonly at: string; readonly by: string } | null {
  const relevant = [...runEntries(entries)];
  const last = relevant.findLastIndex((entry) => entry.do === "close");
  const end = relevant[last];
  if (end?.do !== "close") return null;
  const wasReopened = relevant.slice(last).some((entry) => {
    if (entry.do !== "begin" && entry.do !== "undo") return entry.do === "reopen";
    return entry.part === IRONIC && (entry.do === "begin" || entry.nodes === "all");
  });
  return wasReopened ? null : { at: end.at, by: end.by };
}

/** Nodes whose protection finish cleared, and that were not rolled back later. */
export function unprotected(entries: Entries): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [id, started] of startedChangesIn(entries, FINISH, IRONIC))
    if (clearedOf(id, started).has("protected")) found.add(id);
  return found;
}

export function clearedOf(id: string, { observed }: StartedChange): ReadonlySet<string> {
  const location = `journal, ${FINISH} of ${id}`;
  return new Set(observed.flatMap((one) => fields(one, location).texts("fields")));
}
