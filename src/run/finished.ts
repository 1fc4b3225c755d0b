import { MigrationError } from "../lib/error.ts";
import { endOf } from "../window/handover/rules/guards.ts";
import { readJournal } from "./files/journal.ts";
import { loadTables, releaseNames } from "./files/load-tables.ts";
import type { RunFolder } from "./files/run-folder.ts";

/**
 * Whether a release of Ironic knows a guard at all: before Stein none does. By its tables alone: to read
 * all mapping documents would be a fifth of what `status` takes.
 */
export function knowsGuards(release: string): boolean {
  const known = releaseNames().includes(release);
  const columns = known ? loadTables("ironic", release).tables.nodes?.columns : undefined;
  return (columns ?? []).some(({ name }) => name === "protected" || name === "automated_clean");
}

/** When finish ended this run; null when it did not, or the run went on since. */
export async function endOfRun(
  run: Pick<RunFolder, "path">,
): Promise<{ readonly at: string; readonly by: string } | null> {
  return endOf((await readJournal(run)).entries);
}

/**
 * What works on machines that Nova manages by now wants a word of its own.
 *
 * @param what it would do
 * @throws MigrationError N2I-E321
 */
export async function checkNotFinished(
  run: Pick<RunFolder, "path">,
  what: string,
  { afterFinish, plan = false }: { readonly afterFinish: boolean; readonly plan?: boolean },
): Promise<void> {
  const end = afterFinish || plan ? null : await endOfRun(run);
  if (end !== null)
    throw new MigrationError("N2I-E321", `finish ended this run at ${end.at}; ${what}`);
}
