import { ONE_BY_ONE, type Pace } from "../../../engine/window-part.ts";
import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { type HandoverOptions, handover } from "../../../window/handover/handover.ts";
import { AFTER } from "../../../window/runner/after.ts";
import { EVERY } from "../../views/every-row.ts";
import { statesView } from "../../views/previews.ts";
import { exitWith, type ListArgs, printDone, printMessage, sinkOf } from "../shared.ts";

interface HandoverArgs extends ListArgs, HandoverOptions {
  readonly inFlight?: number;
  readonly perMinute?: number;
  readonly deadline: number;
  readonly maxFailures: number;
}

export async function handoverCommand(args: HandoverArgs): Promise<void> {
  const { trouble, noted, broke } = await handover(args, paceOf(args), sinkOf(args));
  const listed = [...trouble, ...noted];
  const logs = (args.conductorLog ?? []).length > 0;
  if (listed.length > 0)
    await printDone(statesView(listed, logs), { ...args, every: EVERY.handover(args) });
  if (trouble.length > 0) exitWith(EXIT_STATUS.partial.status);
  if (broke !== null) throw broke;
  printMessage(args, AFTER.handover(args));
}

function paceOf({ inFlight, perMinute, deadline, maxFailures }: HandoverArgs): Pace {
  const every = perMinute === undefined ? 0 : 60_000 / perMinute;
  const limits = { every, deadline: deadline * 1000, maxFailures };
  return { ...ONE_BY_ONE, inFlight: inFlight ?? null, ...limits };
}
