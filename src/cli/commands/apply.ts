import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { counted } from "../../lib/text.ts";
import { type ApplyOptions, apply } from "../../migrate/apply/apply.ts";
import { AFTER } from "../../window/runner/after.ts";
import { EVERY } from "../views/every-row.ts";
import { verifiedText } from "../views/verify.ts";
import {
  exitWith,
  type ListArgs,
  note,
  printMessage,
  sinkOf,
  type WatchArgs,
  watchingOf,
} from "./shared.ts";

export async function applyCommand(args: ListArgs & WatchArgs & ApplyOptions): Promise<void> {
  const sink = sinkOf({ ...args, every: EVERY.verify(args) });
  const applied = await apply(args, watchingOf(args, sink.report), sink);
  if (applied === null) return;
  const { failed, verified, equal, partial, again } = applied;
  for (const text of verifiedText(verified)) note(args, text);
  if (failed > 0)
    printMessage(
      args,
      `${counted(failed, "machine")} failed. Fix the listed causes, then run: ${again}\nIf the plan is wrong for a machine, run rollback --node UUID, then plan and apply again.`,
    );
  printMessage(args, AFTER.apply(args));
  if (partial) exitWith(EXIT_STATUS.partial.status);
  else if (!equal) exitWith(EXIT_STATUS.differs.status);
}
