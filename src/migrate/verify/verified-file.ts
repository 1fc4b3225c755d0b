import { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import { journalMark, readJournal } from "../../run/files/journal.ts";
import type { VerifiedState } from "../../run/files/run-files.ts";
import { type RunFolder, readNote, writeNote } from "../../run/files/run-folder.ts";

const FILE = "verified.json";
const FORMAT = "nova2ironic/verified@1";
const NONE: VerifiedState = { rows: false, takeover: false, final: false };
/** Each result depends on those before it. */
const ORDER = ["rows", "takeover", "final"] as const satisfies readonly (keyof VerifiedState)[];

type Found = { readonly [how in keyof VerifiedState | "ironic"]?: boolean };

/**
 * Saves the result of verify for `status` and `run`. A later change invalidates it. A write failure
 * is ignored.
 * @param plan sha256
 * @param since the journal's mark before rows were read, because verify may miss later changes
 * @returns false if the journal changed since, and nothing is saved
 */
export async function rememberVerified(
  run: RunFolder,
  plan: string,
  since: Awaited<ReturnType<typeof journalMark>>,
  found: Found,
): Promise<boolean> {
  try {
    const entries = (await readJournal(run)).entries.length;
    // Checked after the read, so that the count matches the mark.
    if ((await journalMark(run.path)) !== since) return false;
    const before = await noteOf(run, plan, entries);
    const { ironic = before?.ironic === true, ...states } = found;
    const all = before === null ? {} : statesIn(before);
    for (const [how, equal] of Object.entries(states) as [keyof VerifiedState, boolean][]) {
      // Results that depend on it become invalid.
      const invalid = equal ? [] : ORDER.slice(ORDER.indexOf(how) + 1);
      const later = invalid.map((kind) => [kind, false] as const);
      Object.assign(all, { ...NONE, ...all, [how]: equal, ...Object.fromEntries(later) });
    }
    await writeNote(run, FILE, { format: FORMAT, plan, entries, ironic, ...all });
    return true;
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    return true;
  }
}

/** The verify results of a plan since the journal's last entry. Undefined: none. */
export async function readVerified(
  run: RunFolder,
  plan: string,
  entries: number,
): Promise<VerifiedState | undefined> {
  const note = await noteOf(run, plan, entries);
  const states = note === null ? {} : statesIn(note);
  return Object.keys(states).length === 0 ? undefined : { ...NONE, ...states };
}

/** Whether all of Ironic's rows matched a plan since the journal's last entry. */
export async function wasCompared(run: RunFolder, plan: string, entries: number): Promise<boolean> {
  return (await noteOf(run, plan, entries))?.ironic === true;
}

async function noteOf(run: RunFolder, plan: string, entries: number) {
  const note = await readNote(run, FILE);
  if (!isObject(note) || note.format !== FORMAT) return null;
  return note.plan === plan && note.entries === entries ? note : null;
}

function statesIn(note: { readonly [name: string]: unknown }): Partial<VerifiedState> {
  const states = Object.keys(NONE).flatMap((how) =>
    typeof note[how] === "boolean" ? [[how, note[how]]] : [],
  );
  return Object.fromEntries(states);
}
