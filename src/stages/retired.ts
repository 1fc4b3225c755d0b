import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { ARCHIVE, retirementOf } from "../model/archive.ts";
import { MigrationError } from "../model/error.ts";

/**
 * What would need nova_bm again, as it was, has nothing to go by.
 *
 * @param what it would do
 * @throws MigrationError N2I-E341
 */
export async function checkNotRetired(run: Pick<RunFolder, "path">, what: string): Promise<void> {
  const { archive, begun } = retirementOf((await readJournal(run)).entries);
  if (archive === null || begun.size === 0) return;
  throw new MigrationError(
    "N2I-E341",
    `retire dropped nova_bm, archived ${archive.at}; ${what}; its archive is ${run.path}/${ARCHIVE}`,
  );
}
