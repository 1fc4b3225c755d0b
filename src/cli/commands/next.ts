import { openRun } from "../../run/files/run-folder.ts";
import { kindFor } from "../kinds.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject } from "../print/out.ts";

export async function nextStepCommand(args: StatusArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  const { next, reason, takes, undo } = await (await kindFor(run)).advice(run);
  await printObject({ next, why: reason, takes, undo }, args);
}
