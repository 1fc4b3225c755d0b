import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { wasStaged } from "../../stages/status.ts";
import { say, type Voice } from "./shared.ts";

interface Words extends Voice {
  readonly staged: boolean;
}

/** What a load was begun with, it goes on with: half of it live would be half of it taken over. */
export async function goesOnStaged(run: RunFolder, plan: string, args: Words): Promise<boolean> {
  if (args.staged) return true;
  const { entries } = await readJournal(run);
  if (!wasStaged(entries, plan)) return false;
  say(args, "This load was begun with --staged, and goes on so.");
  return true;
}
