import { readJournal } from "../edge/disk/journal.ts";
import { type RunFolder, readNote, writeNote } from "../edge/disk/run-folder.ts";
import { MigrationError } from "../model/error.ts";
import { isObject } from "../model/json.ts";
import type { VerifiedState } from "./run-files.ts";

const FILE = "verified.json";
const FORMAT = "nova2ironic/verified@1";
const NONE: VerifiedState = { rows: false, takeover: false, final: false };
const AFTER: { readonly [how in keyof VerifiedState]: readonly (keyof VerifiedState)[] } = {
  rows: ["takeover", "final"],
  takeover: ["final"],
  final: [],
};

/**
 * Keeps whether verify found all as planned, for `status` and `run` to go on; what is done after it makes
 * it void. Only a note: a run that cannot be written to is verified all the same.
 *
 * @param plan sha256
 */
export async function rememberVerified(
  run: RunFolder,
  plan: string,
  how: keyof VerifiedState,
  equal: boolean,
): Promise<void> {
  try {
    const { entries } = await readJournal(run);
    const before = await readVerified(run, plan, entries.length);
    const found = { ...NONE, ...before, [how]: equal };
    // What builds on it holds no more either.
    const later = equal ? {} : Object.fromEntries(AFTER[how].map((kind) => [kind, false]));
    await writeNote(run, FILE, {
      format: FORMAT,
      plan,
      entries: entries.length,
      ...found,
      ...later,
    });
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
  }
}

/** What of a plan was verified since the journal's last entry, of so many; undefined: nothing. */
export async function readVerified(
  run: RunFolder,
  plan: string,
  entries: number,
): Promise<VerifiedState | undefined> {
  const note = await readNote(run, FILE);
  if (!isObject(note) || note.format !== FORMAT) return undefined;
  if (note.plan !== plan || note.entries !== entries) return undefined;
  const is = (how: keyof VerifiedState): boolean => note[how] === true;
  return { rows: is("rows"), takeover: is("takeover"), final: is("final") };
}
