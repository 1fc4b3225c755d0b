import { openRun } from "../../edge/disk/run-folder.ts";
import { runState } from "../../stages/run-state.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject } from "../print/out.ts";
import { say } from "./shared.ts";

export async function statusCommand(args: StatusArgs): Promise<void> {
  const { fields, next, left } = await runState(await openRun(args.run, { create: false }), args);
  await printObject(fields, args);
  for (const line of [`Next: ${next}`, ...left]) say(args, line);
}
