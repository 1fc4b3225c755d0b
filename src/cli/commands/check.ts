import { statusOfChecks } from "../../core/check/checks.ts";
import { checksJson, checksTable } from "../../report/checks.ts";
import { check } from "../../stages/check.ts";
import { io } from "../io.ts";
import type { CheckArgs } from "../options/check.ts";
import { exitWith, say } from "./shared.ts";

export async function checkCommand(args: CheckArgs): Promise<void> {
  const rows = await check(args, { say: (text) => say(args, text) });
  io().stdout.write(args.json ? checksJson(rows) : checksTable(rows));
  exitWith(statusOfChecks(rows));
}
