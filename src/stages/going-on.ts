import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { Sink } from "./sink.ts";
import { wasStaged } from "./status.ts";

/** What a load was begun with, it goes on with: half of it live would be half of it taken over. */
export async function goesOnStaged(
  run: RunFolder,
  plan: string,
  staged: boolean,
  { say }: Pick<Sink, "say">,
): Promise<boolean> {
  if (staged) return true;
  const { entries } = await readJournal(run);
  if (!wasStaged(entries, plan)) return false;
  say("This load was begun with --staged, and goes on so.");
  return true;
}
