import { openRun } from "../../run/files/run-folder.ts";
import { kindFor } from "../kinds.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject } from "../print/out.ts";
import { say } from "./shared.ts";

export async function statusCommand(args: StatusArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  const { fields, next, left = [] } = await (await kindFor(run)).status(run, args);
  await printObject(fields, args);
  for (const line of [`Next: ${next}`, ...left]) say(args, line);
}
