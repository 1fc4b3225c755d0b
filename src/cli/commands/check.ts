import { statusOfChecks } from "../../core/check/checks.ts";
import { checksJson, checksTable, checksTotal } from "../../report/checks.ts";
import { paintText } from "../../report/colour.ts";
import { check } from "../../stages/check.ts";
import { io } from "../io.ts";
import type { CheckArgs } from "../options/check.ts";
import { screen } from "../print/out.ts";
import { exitWith, say } from "./shared.ts";

export async function checkCommand(args: CheckArgs): Promise<void> {
  const rows = await check(args, { say: (text) => say(args, text) });
  if (args.json) io().stdout.write(checksJson(rows));
  else {
    const shown = args.allRows ? rows : rows.filter(({ result }) => result !== "Success");
    const table = shown.length > 0 ? checksTable(shown, args.allRows) : "";
    io().stdout.write(screen().colour === true ? paintText(table) : table);
    io().stdout.write(`${checksTotal(rows, !args.allRows)}\n`);
  }
  exitWith(statusOfChecks(rows));
}
