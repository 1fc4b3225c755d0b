import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { counted } from "../../../lib/text.ts";
import { STOPPED } from "../../../migrate/order.ts";
import { queueText } from "../../../model/nova/requests.ts";
import { openRun } from "../../../run/files/run-folder.ts";
import { kindOf } from "../../../run/files/run-kind.ts";
import { nextCommand } from "../../../run/next.ts";

import { moveHosts } from "../../../takeover/host-moves.ts";
import type { HostMoved, HostOptions } from "../../../takeover/target.ts";
import { checkMode } from "../given-options.ts";
import { exitWith, type ListArgs, note, printMessage, printResult, sinkOf } from "../shared.ts";

export async function hostMoveCommand(
  args: ListArgs & HostOptions & { readonly run: string },
): Promise<void> {
  const { variant = "ironic" } = await kindOf(await openRun(args.run, { create: false }));
  checkMode("move", variant === "baremetal");
  endOfMove(args, await moveHosts(variant, args, sinkOf(args)));
}

export function endOfMove(args: ListArgs & { readonly run: string }, moved: HostMoved): void {
  const { manifest, fenced, made, found, blocked, skipped: changed, stopped } = moved;
  const fence = fenced === 0 ? "" : `${counted(fenced, "host")} fenced, `;
  const out = blocked + changed.length;
  const skippedText = out === 0 ? "" : `; ${counted(out, "machine was", "machines were")} skipped`;
  for (const { id, reason } of changed) note(args, `${id} was skipped: ${reason}`);
  const changes =
    manifest.nova_bm === undefined
      ? `${counted(made, "row")} changed`
      : `${counted(made, "machine")} moved`;
  printResult(args, `Host move: ${fence}${changes}, ${found} already done${skippedText}.`);
  if (stopped) {
    printMessage(args, STOPPED);
    return;
  }
  for (const { host } of manifest.from) note(args, queueText(host));
  const undo = nextCommand("rollback", args, { all: true });
  printMessage(args, `Next: ${nextCommand("verify", args)}\nUndo: ${undo}`);
  if (out > 0) exitWith(EXIT_STATUS.partial.status);
}
