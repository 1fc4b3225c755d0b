import { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import { journalMark, readJournal } from "../../run/files/journal.ts";
import type { VerifiedState } from "../../run/files/run-files.ts";
import { type RunFolder, readNote, writeNote } from "../../run/files/run-folder.ts";

const FILE = "verified.json";
const FORMAT = "nova2ironic/verified@1";
const NONE: VerifiedState = { rows: false, takeover: false, final: false };
const AFTER: { readonly [how in keyof VerifiedState]: readonly (keyof VerifiedState)[] } = {
  rows: ["takeover", "final"],
  takeover: ["final"],
  final: [],
};

/** What looks found: those of verify, and whether Ironic alone was compared and held every row. */
type Found = { readonly [how in keyof VerifiedState | "ironic"]?: boolean };

/** Where a run's journal stood before rows were looked at. */
export type Since = Awaited<ReturnType<typeof journalMark>>;

/** Asked before the first row is: what is done from then on, a look may not have met. */
export function sinceNow(run: RunFolder): Promise<Since> {
  return journalMark(run.path);
}

/**
 * Keeps whether rows were found as planned, for `status` and `run` to go on; what is done after it makes
 * it void. Only a note: a run that cannot be written to is verified all the same.
 *
 * @param plan sha256
 * @returns false where the journal went on since, and nothing is kept
 */
export async function rememberVerified(
  run: RunFolder,
  plan: string,
  since: Since,
  found: Found,
): Promise<boolean> {
  try {
    const entries = (await readJournal(run)).entries.length;
    // After it was read: what is counted is what was there.
    if ((await journalMark(run.path)) !== since) return false;
    const before = await noteOf(run, plan, entries);
    const { ironic = before?.ironic === true, ...looks } = found;
    const all = before === null ? {} : looksIn(before);
    for (const [how, equal] of Object.entries(looks) as [keyof VerifiedState, boolean][]) {
      // What builds on it holds no more either.
      const later = equal ? [] : AFTER[how].map((kind) => [kind, false] as const);
      Object.assign(all, { ...NONE, ...all, [how]: equal, ...Object.fromEntries(later) });
    }
    await writeNote(run, FILE, { format: FORMAT, plan, entries, ironic, ...all });
    return true;
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    return true;
  }
}

/** What of a plan was verified since the journal's last entry, of so many; undefined: nothing. */
export async function readVerified(
  run: RunFolder,
  plan: string,
  entries: number,
): Promise<VerifiedState | undefined> {
  const note = await noteOf(run, plan, entries);
  const looks = note === null ? {} : looksIn(note);
  return Object.keys(looks).length === 0 ? undefined : { ...NONE, ...looks };
}

/** Whether Ironic's rows were compared with a plan since the journal's last entry, and all held. */
export async function wasCompared(run: RunFolder, plan: string, entries: number): Promise<boolean> {
  return (await noteOf(run, plan, entries))?.ironic === true;
}

async function noteOf(run: RunFolder, plan: string, entries: number) {
  const note = await readNote(run, FILE);
  if (!isObject(note) || note.format !== FORMAT) return null;
  return note.plan === plan && note.entries === entries ? note : null;
}

function looksIn(note: { readonly [name: string]: unknown }): Partial<VerifiedState> {
  const looks = Object.keys(NONE).flatMap((how) =>
    typeof note[how] === "boolean" ? [[how, note[how]]] : [],
  );
  return Object.fromEntries(looks);
}
