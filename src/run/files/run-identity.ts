import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { notWritten, orNotWritten } from "../../lib/files/failure.ts";
import { syncFolder } from "../../lib/files/temp-file.ts";
import { shellArgument } from "../../lib/text.ts";
import type { RunFolder } from "./run-folder.ts";

/** Journal of all parts. */
export const JOURNAL = "journal.jsonl";
/** Next to the journal: its original folder, and whether it has entries. */
const ORIGIN = "run.place";
/** Mark of a journal with entries. */
const STARTED = "begun\n";

/**
 * Refuses to work on a copy of a run. Open journal entries count as changes of this run, but in an
 * older copy they may be later changes of the original run. The folder is identified by its inode,
 * which survives a rename, but not a copy or a restored backup.
 * @returns identity of this folder, the file with the known identity, and its content
 * @throws MigrationError N2I-E222, N2I-E120
 */
export async function refuseCopy(
  run: RunFolder,
): Promise<{ readonly here: string; readonly path: string; readonly recorded: string | null }> {
  const path = join(run.path, ORIGIN);
  const here = String((await stat(run.path, { bigint: true })).ino);
  const recorded = await readFile(path, "utf8").catch(orMissing(path));
  if (recorded !== null && !isIdentity(recorded, here) && (await hasStarted(run)))
    throw new MigrationError("N2I-E222", `${run.path} is a copy of its original run folder`, {
      fix: `Work in the original folder. If it is lost, or this folder was restored from a backup, run: rm ${shellArgument(path)}, then repeat the command.`,
    });
  return { here, path, recorded };
}

function isIdentity(recorded: string | null, here: string): boolean {
  return recorded?.split("\n")[0]?.trim() === here;
}

/** Refuses a copy, else saves the folder's identity. @throws MigrationError N2I-E222, N2I-E120 */
export async function checkRunIdentity(run: RunFolder): Promise<void> {
  const { here, path, recorded } = await refuseCopy(run);
  if (isIdentity(recorded, here)) return;
  const mark = recorded?.includes(STARTED) === true ? STARTED : "";
  await writeFile(path, `${here}\n${mark}`, { mode: 0o600 }).catch(orNotWritten(path));
  await syncFolder(run.path);
}

/** To detect the loss of a journal with entries. @throws MigrationError N2I-E120 */
export async function rememberStarted({ path }: RunFolder): Promise<void> {
  const file = join(path, ORIGIN);
  const recorded = await readFile(file, "utf8").catch(orMissing(file));
  if (recorded?.includes(STARTED) === true) return;
  await writeFile(file, STARTED, { flag: "a", mode: 0o600 }).catch(orNotWritten(file));
}

/** Refuses an empty or missing journal of a run that had one. @throws MigrationError N2I-E112 */
export async function checkLost({ path }: Pick<RunFolder, "path">): Promise<void> {
  const recorded = await readFile(join(path, ORIGIN), "utf8").catch(() => null);
  if (recorded?.includes(STARTED) !== true) return;
  const what = `${join(path, JOURNAL)} is missing or empty, but ${ORIGIN} shows that it had entries`;
  throw new MigrationError("N2I-E112", what, {
    reason: "It is the only record of the changes of this run in Ironic and Nova.",
    fix:
      "Restore it from a copy of the run. If you know that this run did not write anything, or that none of its changes remain, run: " +
      `rm ${shellArgument(join(path, ORIGIN))}`,
  });
}

/** Null for a missing file. @throws MigrationError N2I-E120 for any other failure */
function orMissing(path: string): (cause: unknown) => null {
  return (cause) => {
    if (systemCode(cause) === "ENOENT") return null;
    throw notWritten(path, cause);
  };
}

async function hasStarted({ path }: RunFolder): Promise<boolean> {
  const journal = await stat(join(path, JOURNAL)).catch(orMissing(path));
  return journal !== null && journal.size > 0;
}
