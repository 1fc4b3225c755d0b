import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import type { FormatOptions } from "../../../lib/table/format.ts";
import type { HardwareDifference } from "../../../model/switchover.ts";
import { nextCommand } from "../../../run/next.ts";
import type { SwitchStepRow } from "../../../switchover/rules/switching.ts";
import { type SwitchOptions, switchOver } from "../../../switchover/switchover.ts";
import { printView } from "../../print/out.ts";
import { differencesView, stepsView } from "../../views/nodes.ts";
import { exitWith, note, printMessage, sinkOf, type Voice } from "../shared.ts";

export interface SwitchoverArgs
  extends Voice,
    Omit<FormatOptions, "allRows">,
    Omit<SwitchOptions, "source"> {
  readonly machine: string;
  /** The destination, as the second argument. */
  readonly name?: string;
}

export async function switchoverCommand(args: SwitchoverArgs): Promise<void> {
  const { machine: source, name, dryRun } = args;
  const destination = args.destination ?? name;
  const options: SwitchOptions = {
    ...{ ...args, source },
    ...(destination !== undefined && { destination }),
  };
  const shows = {
    steps: (rows: readonly SwitchStepRow[]) => printView(stepsView(rows), args),
    async differences(rows: readonly HardwareDifference[]) {
      if (rows.length > 0) await printView(differencesView(rows), args);
    },
  };
  const ended = await switchOver(options, shows, sinkOf(args));
  if (!ended) {
    note(args, "Stopped. To resume, run the same command again. To undo it, run rollback.");
    exitWith(EXIT_STATUS.interrupted.status);
  }
  if (!dryRun && ended) printMessage(args, `Next: ${nextCommand("verify", args)}`);
}
