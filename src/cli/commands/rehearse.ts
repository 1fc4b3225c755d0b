import { rehearsalText, rehearsalView } from "../../report/rehearsal.ts";
import { AFTER } from "../../stages/pipeline.ts";
import { endOf } from "../../stages/rehearsal-file.ts";
import { rehearse, undoRehearsal } from "../../stages/rehearse.ts";
import type { RehearseArgs } from "../options/rehearse.ts";
import { printView } from "../print/out.ts";
import { exitWith, note, say, sinkOf } from "./shared.ts";

export async function rehearseCommand(args: RehearseArgs): Promise<void> {
  const sink = sinkOf(args);
  if (args.undo) return undoRehearsal(args, sink);
  const found = await rehearse(args, sink);
  if (found === null) return say(args, "Stopped; the copy is removed, and Ironic is as it was.");
  await printView(rehearsalView(found), args);
  for (const text of rehearsalText(found)) note(args, text);
  say(args, AFTER.rehearse(args));
  exitWith(endOf(found));
}
