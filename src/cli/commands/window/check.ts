import { type CheckRequest, check } from "../../../window/check/check.ts";
import { statusOfChecks } from "../../../window/check/rules/checks.ts";
import { io } from "../../io.ts";
import { checksJson, checksTable, checksTotal, matchingChecks } from "../../views/checks.ts";
import { exitWith, painted, printMessage, type Voice } from "../shared.ts";

interface CheckArgs extends Voice, CheckRequest {
  readonly allRows: boolean;
  readonly match?: readonly string[];
}

export async function checkCommand(args: CheckArgs): Promise<void> {
  const rows = await check(args, { report: (text) => printMessage(args, text) });
  const { match, allRows } = args;
  const matches = match === undefined ? rows : matchingChecks(rows, match);
  if (args.json) io().stdout.write(checksJson(matches));
  else {
    const every = allRows || match !== undefined;
    const listed = every ? matches : matches.filter(({ result }) => result !== "Success");
    const table = listed.length > 0 ? checksTable(listed, every) : "";
    io().stdout.write(painted(table));
    io().stdout.write(`${checksTotal(rows, !every)}\n`);
  }
  exitWith(statusOfChecks(rows));
}
