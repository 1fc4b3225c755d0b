import type { CheckRow } from "../core/check/checks.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { displayWidth, takeWidth, visibleLines, wrap } from "./text.ts";

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
  if (whole) return drawn(rows, Number.POSITIVE_INFINITY);
  const tables = [3, 2, 1].map((most) => drawn(rows, most));
  return tables.find((table) => table.split("\n").length <= PAGE) ?? tables.at(-1) ?? "";
}

/** Lines of a table that fits on a page of 60 with what is said around it. */
const PAGE = 55;

/** @param most lines of each thing that was found */
function drawn(rows: readonly CheckRow[], most: number): string {
  const cells = [
    [TITLE],
    ...rows.map(({ title, result, details }) => [
      `Check: ${title}`,
      `Result: ${result}`,
      ...detailLines(details ?? "None", most),
    ]),
  ];
  const width = Math.max(...cells.flat().map(displayWidth));
  const rule = `+${"-".repeat(width + 2)}+`;
  const boxes = cells.map((lines) =>
    [...lines.map((line) => `| ${line}${" ".repeat(width - displayWidth(line))} |`), rule].join(
      "\n",
    ),
  );
  return `${[rule, ...boxes].join("\n")}\n`;
}

function detailLines(details: string, most: number): readonly string[] {
  return visibleLines(`Details: ${details}`)
    .flatMap((line) => {
      const wrapped = wrap(line, DETAILS.width);
      // What to do is never cut.
      if (wrapped.length <= most || line.startsWith("Fix: ")) return wrapped;
      const last = takeWidth(wrapped[most - 1] ?? "", DETAILS.width - 4).replace(/ \S*$/, "");
      return [...wrapped.slice(0, most - 1), `${last} ...`];
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
