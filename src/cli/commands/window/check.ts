import { type CheckRequest, check } from "../../../window/check/check.ts";
import { statusOfChecks } from "../../../window/check/rules/checks.ts";
import { io } from "../../io.ts";
import { checksJson, checksTable, checksTotal, matchingChecks } from "../../views/checks.ts";
import { exitWith, painted, say, type Voice } from "../shared.ts";

interface CheckArgs extends Voice, CheckRequest {
  readonly allRows: boolean;
  readonly match?: readonly string[];
}

export async function checkCommand(args: CheckArgs): Promise<void> {
  const rows = await check(args, { say: (text) => say(args, text) });
  const { match, allRows } = args;
  const wanted = match === undefined ? rows : matchingChecks(rows, match);
  if (args.json) io().stdout.write(checksJson(wanted));
  else {
    const every = allRows || match !== undefined;
    const shown = every ? wanted : wanted.filter(({ result }) => result !== "Success");
    const table = shown.length > 0 ? checksTable(shown, every) : "";
    io().stdout.write(painted(table));
    io().stdout.write(`${checksTotal(rows, !every)}\n`);
  }
  exitWith(statusOfChecks(rows));
}
