import { orNull } from "../../../lib/error.ts";
import { openRun } from "../../../run/files/run-folder.ts";
import { kindOf } from "../../../run/files/run-kind.ts";
import { takeOver } from "../../../takeover/host-takeover.ts";
import { checkMode } from "../given-options.ts";
import { type ListArgs, sinkOf } from "../shared.ts";
import { endOfMove } from "./move.ts";
import { printMoves } from "./plan.ts";

export async function hostTakeoverCommand(
  args: ListArgs & Parameters<typeof takeOver>[1],
): Promise<void> {
  const about = await orNull(openRun(args.run, { create: false }).then(kindOf));
  const legacy = args.novaBmDb !== undefined || about?.variant === "baremetal";
  checkMode("takeover", legacy);
  const variant = legacy ? "baremetal" : "ironic";
  const moved = await takeOver(variant, args, sinkOf(args), (made) => printMoves(args, made));
  if (moved !== null) endOfMove(args, moved);
}
