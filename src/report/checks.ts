import type { CheckRow } from "../core/check/checks.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { displayWidth, visibleLines, wrap } from "./text.ts";

const TITLE = "Upgrade Check Results";
/** Columns of a line of details, and what later lines begin with. */
const DETAILS = { width: 60, indent: "  " };

/**
 * The table of `nova-status upgrade check`.
 *
 * @source oslo.upgradecheck, upgradecheck.py: a PrettyTable of one column, ruled at every row
 */
export function checksTable(rows: readonly CheckRow[]): string {
  const cells = [
    [TITLE],
    ...rows.map(({ title, result, details }) => [
      `Check: ${title}`,
      `Result: ${result}`,
      ...detailLines(details ?? "None"),
    ]),
  ];
  const width = Math.max(...cells.flat().map(displayWidth));
  const rule = `+${"-".repeat(width + 2)}+`;
  const drawn = cells.map((lines) =>
    [...lines.map((line) => `| ${line}${" ".repeat(width - displayWidth(line))} |`), rule].join(
      "\n",
    ),
  );
  return `${[rule, ...drawn].join("\n")}\n`;
}

function detailLines(details: string): readonly string[] {
  return visibleLines(`Details: ${details}`)
    .flatMap((line) => wrap(line, DETAILS.width))
    .map((line, at) => (at === 0 ? line : `${DETAILS.indent}${line}`));
}

/** The same for programs; `result` is a status of CHECK_STATUS. */
export function checksJson(rows: readonly CheckRow[]): string {
  const checks = rows.map(({ title, result, details }) => ({
    check: title,
    result: CHECK_STATUS[result].status,
    details,
  }));
  return `${JSON.stringify({ name: TITLE, checks })}\n`;
}

/** The name of an exit status of `check`, as the manual has it. */
export function checkExitName(status: number): string {
  const [name = "unknown"] =
    Object.entries(CHECK_STATUS).find(([, known]) => known.status === status) ?? [];
  return name;
}
