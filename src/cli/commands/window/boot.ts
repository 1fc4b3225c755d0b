import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { STOPPED } from "../../../migrate/order.ts";
import { type BootOptions, boot } from "../../../window/boot/boot.ts";
import { AFTER } from "../../../window/runner/after.ts";
import { EVERY } from "../../views/every-row.ts";
import { bootSummary, bootView } from "../../views/previews.ts";
import {
  exitWith,
  type ListArgs,
  printDone,
  printMessage,
  printResult,
  sinkOf,
} from "../shared.ts";

export async function bootCommand(args: ListArgs & BootOptions): Promise<void> {
  const { plan, verify, undo } = args;
  const { rows, stopped, elsewhere, dhcp } = await boot(args, sinkOf(args));
  if (stopped) printMessage(args, STOPPED);
  const has = (expected: string): boolean => rows.some(({ state }) => state === expected);
  if (rows.some(({ state }) => state !== "ready") || args.format !== "table")
    await printDone(bootView(rows), {
      ...args,
      every: EVERY.boot(args),
      // After an undo, no other command lists the rows again.
      allRows: args.allRows === true || undo,
    });
  const title = plan ? "Plan" : verify ? "Verify" : undo ? "Undo" : "Boot";
  const none = undo ? "this run has no boot files there" : "no machine has an instance to boot";
  printResult(args, bootSummary(title, rows, none));
  if (has("stumbles") || (undo && has("left"))) exitWith(EXIT_STATUS.differs.status);
  else if (has("left") && !plan) exitWith(EXIT_STATUS.partial.status);
  if (plan || verify) return;
  if (elsewhere.length > 0)
    printMessage(args, `This run also staged boot files in other trees: ${elsewhere.join(", ")}`);
  if (dhcp !== null)
    printMessage(
      args,
      `Until Ironic takes over the machines, DHCP directs them to their old host. Keep its TFTP service: ${dhcp}`,
    );
  printMessage(args, AFTER.boot(args));
}
