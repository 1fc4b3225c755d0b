import { openRun } from "../../run/files/run-folder.ts";
import { kindFor } from "../kinds.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject } from "../print/out.ts";
import { printMessage } from "./shared.ts";

export async function statusCommand(args: StatusArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  const { fields, next, excluded = [] } = await (await kindFor(run)).status(run, args);
  await printObject(fields, args);
  for (const line of [`Next: ${next}`, ...excluded]) printMessage(args, line);
}
