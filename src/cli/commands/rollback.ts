import { EXIT_STATUS } from "../../model/exit-status.ts";
import { gatherLeft } from "../../report/left.ts";
import { previewRollback, rollback } from "../../stages/rollback.ts";
import type { RollbackArgs } from "../options/rollback.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "./every-row.ts";
import { watchingOf } from "./nova-options.ts";
import { exitWith, printResult, sinkOf } from "./shared.ts";

export async function rollbackCommand(args: RollbackArgs): Promise<void> {
  const how = { ...args, every: EVERY.rollback(args) };
  const sink = sinkOf(how);
  const watching = watchingOf(args, sink.say);
  if (args.plan) return previewRollback(args, sink);
  const left = gatherLeft(args);
  const ended = await rollback(args, watching, sink, left.add).catch(async (cause: unknown) => {
    // What is known by then is said all the same.
    if (left.any()) await printView(left.view(), how);
    throw cause;
  });
  await printView(left.view(), how);
  if (ended === null) return;
  for (const note of ended.notes) printResult(args, note);
  if (left.any() || ended.untold) exitWith(EXIT_STATUS.differs.status);
}
