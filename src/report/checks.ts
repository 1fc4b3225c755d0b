import type { CheckRow } from "../core/check/checks.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { displayWidth, visibleLines, wrap } from "./text.ts";

const TITLE = "Upgrade Check Results";
/** Columns of a line of details, for a table that fits on 80, and what later lines begin with. */
const DETAILS = { width: 74, indent: "  " };

/**
 * The table of `nova-status upgrade check`.
 *
 * @param whole each detail, however long; else its first lines
 *
 * @source oslo.upgradecheck, upgradecheck.py: a PrettyTable of one column, ruled at every row
 */
export function checksTable(rows: readonly CheckRow[], whole: boolean): string {
  const cells = [
    [TITLE],
    ...rows.map(({ title, result, details }) => [
      `Check: ${title}`,
      `Result: ${result}`,
      ...detailLines(details ?? "None", whole ? Number.POSITIVE_INFINITY : MOST),
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

/** Lines of what was found, and of each thing that is said besides, such as what to do. */
const MOST = 3;

function detailLines(details: string, most: number): readonly string[] {
  return visibleLines(`Details: ${details}`)
    .flatMap((line) => {
      const wrapped = wrap(line, DETAILS.width);
      // What to do is never cut.
      if (wrapped.length <= most || line.startsWith("Fix: ")) return wrapped;
      return [...wrapped.slice(0, most - 1), `${wrapped[most - 1]} ...`];
    })
    .map((line, at) => (at === 0 ? line : `${DETAILS.indent}${line}`));
}

/** What came of all checks in a line. @param hidden those that succeeded are not in the table */
export function checksTotal(rows: readonly CheckRow[], hidden: boolean): string {
  const count = (wanted: CheckRow["result"]): number =>
    rows.filter(({ result }) => result === wanted).length;
  const good = count("Success");
  const more = hidden && good > 0 ? " (--all-rows)" : "";
  return `${rows.length} checks: ${count("Failure")} failed, ${count("Warning")} with a warning, ${good} succeeded${more}.`;
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
