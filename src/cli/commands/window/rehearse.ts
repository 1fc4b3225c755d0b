import type { RehearseOptions } from "../../../window/rehearse/rehearsal-commands.ts";
import { endOf } from "../../../window/rehearse/rehearsal-file.ts";
import { rehearse } from "../../../window/rehearse/rehearse.ts";
import { AFTER } from "../../../window/runner/after.ts";
import { printView } from "../../print/out.ts";
import { rehearsalText, rehearsalView } from "../../views/rehearsal.ts";
import { exitWith, type ListArgs, note, printMessage, sinkOf } from "../shared.ts";

export async function rehearseCommand(args: ListArgs & RehearseOptions): Promise<void> {
  const found = await rehearse(args, sinkOf(args));
  if (found === null)
    return printMessage(args, "Stopped. Restore the copies before the next rehearsal.");
  await printView(rehearsalView(found), args);
  for (const text of rehearsalText(found)) note(args, text);
  printMessage(args, AFTER.rehearse(args));
  exitWith(endOf(found));
}
