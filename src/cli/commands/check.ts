import { statusOfChecks } from "../../core/check/checks.ts";
import { checksJson, checksTable } from "../../report/checks.ts";
import { check } from "../../stages/check.ts";
import { io } from "../io.ts";
import type { CheckArgs } from "../options/check.ts";
import { exitWith, say } from "./shared.ts";

export async function checkCommand(args: CheckArgs): Promise<void> {
  const rows = await check(args, { say: (text) => say(args, text) });
  // Amid a run only what wants a look; by itself the table that nova-status has.
  const shown = args.walked === true ? rows.filter(({ result }) => result !== "Success") : rows;
  if (args.walked === true) say(args, `Checks: ${rows.length}, ${shown.length} want a look.`);
  if (args.json || shown.length > 0)
    io().stdout.write(args.json ? checksJson(rows) : checksTable(shown));
  exitWith(statusOfChecks(rows));
}
