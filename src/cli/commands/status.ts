import { managedState, managesNodes } from "../../manage/manage-run.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { movesHosts } from "../../run/host-files.ts";
import { switchesOver, switchState } from "../../switchover/switchover-run.ts";
import { hostState } from "../../takeover/host-status.ts";
import { runState } from "../../window/runner/run-state.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject } from "../print/out.ts";
import { say } from "./shared.ts";

export async function statusCommand(args: StatusArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  const state = (await movesHosts(run))
    ? await hostState(run)
    : (await managesNodes(run))
      ? await managedState(args.run)
      : (await switchesOver(run))
        ? await switchState(args.run)
        : await runState(run, args);
  await printObject(state.fields, args);
  for (const line of [`Next: ${state.next}`, ...("left" in state ? state.left : [])])
    say(args, line);
}
