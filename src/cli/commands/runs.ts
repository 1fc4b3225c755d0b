import { openRun } from "../../run/files/run-folder.ts";
import type { HostVerifyOptions } from "../../takeover/host-verify.ts";
import { kindFor, type RunVerified, verifiedBy } from "../kinds.ts";
import type { RollbackArgs, VerifyArgs } from "../options/apply.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject, printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { gatherSkipped } from "../views/skipped-rows.ts";
import {
  exitWith,
  type ListArgs,
  note,
  printMessage,
  printResult,
  sinkOf,
  type Voice,
} from "./shared.ts";

export async function statusCommand(args: StatusArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  const { fields, next, excluded = [] } = await (await kindFor(run)).status(run, args);
  await printObject(fields, args);
  for (const line of [`Next: ${next}`, ...excluded]) printMessage(args, line);
}

export async function nextStepCommand(args: StatusArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  const { next, reason, takes, undo } = await (await kindFor(run)).advice(run);
  await printObject({ next, why: reason, takes, undo }, args);
}

export async function verifyCommand(args: VerifyArgs): Promise<void> {
  const kind = await kindFor(await openRun(args.run, { create: false }));
  printVerified(args, await kind.verify(args));
}

/** `host verify`, which has only the options of such runs. */
export async function verifyHostsCommand(args: ListArgs & HostVerifyOptions) {
  const { verifyHosts } = await import("../../takeover/host-verify.ts");
  printVerified(args, await verifiedBy(args, verifyHosts));
}

function printVerified(args: Voice, { texts, equal }: RunVerified): void {
  for (const text of texts) (text.startsWith("Next: ") ? printMessage : note)(args, text);
  if (!equal) exitWith("differs");
}

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
  if (skipped.any() || ended.noNova) exitWith("differs");
}
