import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { STOPPED } from "../../../migrate/order.ts";
import {
  type FinishOptions,
  finishRun,
  previewFinish,
  RUN_DONE,
} from "../../../window/finish/finish.ts";
import { AFTER } from "../../../window/runner/after.ts";
import { EVERY } from "../../views/every-row.ts";
import { statesView } from "../../views/previews.ts";
import {
  exitWith,
  type ListArgs,
  printDone,
  printMessage,
  printResult,
  sinkOf,
} from "../shared.ts";

interface FinishArgs extends ListArgs, FinishOptions {
  readonly plan: boolean;
}

export async function finishCommand(args: FinishArgs): Promise<void> {
  const every = EVERY.finish(args);
  const sink = sinkOf({ ...args, every });
  if (args.plan) return previewFinish(args, sink);
  const { skipped, stopped, broke, notes, partial } = await finishRun(args, sink);
  if (skipped.length > 0) await printDone(statesView(skipped), { ...args, every });
  if (partial) exitWith(EXIT_STATUS.partial.status);
  if (broke !== null) throw broke;
  if (stopped) printMessage(args, STOPPED);
  for (const text of notes) if (args.walked !== true || text !== RUN_DONE) printResult(args, text);
  printMessage(args, AFTER.finish(args));
}
