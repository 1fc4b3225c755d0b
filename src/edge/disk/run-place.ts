import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError } from "../../model/error.ts";
import { shellWord } from "../../model/text.ts";
import { notWritten, systemCode } from "./failure.ts";
import type { RunFolder } from "./run-folder.ts";
import { syncFolder } from "./temp-file.ts";

const NAME = "run.place";

/**
 * Refuses to act on a copy of a run. What a journal begun and did not end counts as this run's own
 * when it is found; in a copy taken earlier it may be what the first run, or another, has loaded since.
 * A folder that is renamed stays itself: it is known by its inode, which a copy and a restored backup
 * do not keep.
 *
 * @throws MigrationError N2I-E222, N2I-E120
 */
export async function checkPlace(run: RunFolder): Promise<void> {
  const path = join(run.path, NAME);
  const here = String((await stat(run.path, { bigint: true })).ino);
  const known = await readFile(path, "utf8").catch((cause: unknown) => {
    if (systemCode(cause) === "ENOENT") return null;
    throw notWritten(path, cause);
  });
  if (known?.trim() === here) return;
  if (known !== null && (await hasBegun(run)))
    throw new MigrationError("N2I-E222", `${run.path} is a copy of the run it was made in`, {
      fix: `Work in that one. If it is lost for good, or this is all that a backup gave back: rm ${shellWord(path)}, then run the same command again.`,
    });
  await writeFile(path, `${here}\n`, { mode: 0o600 }).catch((cause: unknown) => {
    throw notWritten(path, cause);
  });
  await syncFolder(run.path);
}

async function hasBegun({ path }: RunFolder): Promise<boolean> {
  const journal = await stat(join(path, "journal.jsonl")).catch((cause: unknown) => {
    if (systemCode(cause) === "ENOENT") return null;
    throw notWritten(path, cause);
  });
  return journal !== null && journal.size > 0;
}
