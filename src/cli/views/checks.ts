import { grouped } from "../../lib/grouped.ts";
import { matching } from "../../lib/table/match.ts";
import { type Columns, viewer } from "../../lib/table/table.ts";
import { displayWidth, takeWidth, visibleLines, wrap } from "../../lib/table/text.ts";
import { counted } from "../../lib/text.ts";
import { CHECK_STATUS } from "../../model/check.ts";
import type { CheckRow } from "../../window/check/rules/checks.ts";

const TITLE = "Upgrade Check Results";
/** Width of details for 80 columns, and the indent of further lines. */
const DETAILS = { width: 74, indent: "  " };

/**
 * @param full complete details. Otherwise a long table shows only the first lines of warnings, and
 * if needed of failures
 * @source oslo.upgradecheck, upgradecheck.py: a PrettyTable of one column, ruled at every row
 */
export function checksTable(rows: readonly CheckRow[], full: boolean): string {
  if (full) return drawn(rows.map(alone), ALL);
  const boxes = mergeRows(rows);
  const tables = CUTS.map((most) => drawn(boxes, most));
  return tables.find((table) => table.split("\n").length <= PAGE) ?? drawn(boxes, MILD);
}

interface Box extends Pick<CheckRow, "result" | "details"> {
  readonly titles: readonly string[];
}

function alone({ title, result, details }: CheckRow): Box {
  return { titles: [title], result, details };
}

/** Merges equal rows: an unread database concerns many checks. */
function mergeRows(rows: readonly CheckRow[]): readonly Box[] {
  const same = grouped(rows, ({ result, details }) => JSON.stringify([result, details]));
  return [...same.values()].flatMap((group) =>
    group.slice(0, 1).map((row) => ({ ...alone(row), titles: group.map(({ title }) => title) })),
  );
}

/** Maximum lines of each detail. */
type Most = readonly [failure: number, warning: number];

const ALL: Most = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
const MILD: Most = [Number.POSITIVE_INFINITY, 1];
const CUTS: readonly Most[] = [[Number.POSITIVE_INFINITY, 3], MILD, [3, 1], [2, 1], [1, 1]];

/** Lines for a page of 60 with the surrounding lines. */
const PAGE = 55;

function drawn(rows: readonly Box[], most: Most): string {
  const cells = [
    [TITLE],
    ...rows.map(({ titles, result, details }) => [
      ...wrap(`Check: ${titles.join(", ")}`, DETAILS.width),
      `Result: ${result}`,
      ...detailLines(details ?? "None", result === "Failure" ? most[0] : most[1]),
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
      // A fix is never cut.
      if (wrapped.length <= most || line.startsWith("Fix: ")) return wrapped;
      const rest = takeWidth(wrapped.slice(most - 1).join(" "), DETAILS.width - 4);
      // A long name is cut rather than omitted.
      const last = rest.replace(/ \S*$/, "");
      return [...wrapped.slice(0, most - 1), `${2 * last.length > rest.length ? last : rest} ...`];
    })
    .map((line, at) => (at === 0 ? line : `${DETAILS.indent}${line}`));
}

const COLUMNS = {
  Check: ({ title }) => title,
  Result: ({ result }) => result,
  Details: ({ details }) => details ?? null,
} as const satisfies Columns<CheckRow>;

export const checksView = viewer<CheckRow>(COLUMNS);

/** @throws MigrationError N2I-E100 */
export function matchingChecks(rows: readonly CheckRow[], match: readonly string[]) {
  const isMatch = matching(Object.keys(COLUMNS), match);
  return rows.filter((row) => isMatch(Object.values(COLUMNS).map((cell) => cell(row))));
}

/** The counts in one line. @param hidden successful checks are not in the table */
export function checksTotal(rows: readonly CheckRow[], hidden: boolean): string {
  const count = (verdict: CheckRow["result"]): number =>
    rows.filter(({ result }) => result === verdict).length;
  const good = count("Success");
  const more = hidden && good > 0 ? " (--all-rows)" : "";
  return `${counted(rows.length, "check")}: ${count("Failure")} failed, ${count("Warning")} with a warning, ${good} succeeded${more}.`;
}

/** For programs; `result` is a status of CHECK_STATUS. */
export function checksJson(rows: readonly CheckRow[]): string {
  const checks = rows.map(({ title, result, details }) => ({
    check: title,
    result: CHECK_STATUS[result].status,
    details,
  }));
  return `${JSON.stringify({ name: TITLE, checks })}\n`;
}

export function checkExitName(status: number): string {
  const [name = "unknown"] =
    Object.entries(CHECK_STATUS).find(([, exit]) => exit.status === status) ?? [];
  return name;
}
