import { type TakeoverWords, takeOver } from "../../stages/host-takeover.ts";
import type { HostArgs } from "../options/host.ts";
import { endOfMove } from "./host-move.ts";
import { printMoves } from "./host-plan.ts";
import { sinkOf } from "./shared.ts";

export async function hostTakeoverCommand(args: HostArgs & TakeoverWords): Promise<void> {
  const moved = await takeOver(args, sinkOf(args), (made) => printMoves(args, made));
  if (moved !== null) endOfMove(args, moved);
}
