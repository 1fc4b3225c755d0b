import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { kindFor } from "../kinds.ts";
import type { RollbackArgs } from "../options/apply.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { gatherSkipped } from "../views/skipped-rows.ts";
import { exitWith, printResult, sinkOf } from "./shared.ts";

export async function rollbackCommand(args: RollbackArgs): Promise<void> {
  const how = { ...args, every: EVERY.rollback(args) };
  const sink = sinkOf(how);
  const kind = await kindFor(await openRun(args.run, { create: false }));
  const rollback = await kind.rollback(args, sink.report);
  if (args.plan) return rollback.preview(sink);
  const skipped = gatherSkipped(args);
  const ended = await rollback.back(sink, skipped.add).catch(async (cause: unknown) => {
    // Prints the conflicts that were found before the failure.
    if (skipped.any()) await printView(skipped.view(), how);
    throw cause;
  });
  await printView(skipped.view(), how);
  if (ended === null) return;
  for (const note of ended.notes) printResult(args, note);
  if (skipped.any() || ended.noNova) exitWith(EXIT_STATUS.differs.status);
}
