import { openRun } from "../../edge/disk/run-folder.ts";
import { movesHosts } from "../../stages/host-files.ts";
import { hostState } from "../../stages/host-status.ts";
import { managedState, managesNodes } from "../../stages/manage-run.ts";
import { runState } from "../../stages/run-state.ts";
import { switchesOver, switchState } from "../../stages/switchover-run.ts";
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
