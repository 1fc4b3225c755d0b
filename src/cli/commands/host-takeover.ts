import { openRun } from "../../edge/disk/run-folder.ts";
import { orNull } from "../../model/error.ts";
import { movesLegacy } from "../../stages/host-files.ts";
import { type TakeoverWords, takeOver } from "../../stages/host-takeover.ts";
import type { LegacyPlaces } from "../../stages/legacy-place.ts";
import { takeOverLegacy } from "../../stages/legacy-takeover.ts";
import type { HostArgs } from "../options/host.ts";
import { checkMode } from "./host-mode.ts";
import { endOfMove } from "./host-move.ts";
import { printMoves } from "./host-plan.ts";
import { sinkOf } from "./shared.ts";

export async function hostTakeoverCommand(
  args: HostArgs & TakeoverWords & LegacyPlaces,
): Promise<void> {
  const run = await orNull(openRun(args.run, { create: false }));
  const legacy = args.novaBmDb !== undefined || (run !== null && (await movesLegacy(run)));
  checkMode("takeover", legacy);
  const takes = legacy ? takeOverLegacy : takeOver;
  const moved = await takes(args, sinkOf(args), (made) => printMoves(args, made));
  if (moved !== null) endOfMove(args, moved);
}
