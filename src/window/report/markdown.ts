import { visible } from "../../lib/table/text.ts";
import { counted, duration } from "../../lib/text.ts";
import { FINDINGS, type Severity } from "../../model/findings.ts";
import {
  aboutOf,
  boundTo,
  hostRows,
  nightRows,
  PROMISE,
  SIGNERS,
  undoLines,
  verdictRows,
} from "./report-text.ts";
import type { FoundGroup, ReportFacts } from "./rules/facts.ts";
import { nightText } from "./rules/night.ts";
import { second } from "./rules/window.ts";

/** Maximum of table rows, and of those in the short form. */
const MOST = 12;
const MOST_BRIEF = 5;

type Cells = readonly (string | number)[];

/** The report as Markdown for a change ticket. @param all every section. Default: one page */
export function markdown(facts: ReportFacts, all: boolean): string {
  const { verdict } = facts;
  const pieces = [
    `# Migration from nova-baremetal to Ironic: run ${plain(facts.run)}`,
    `**${plain(verdict.title)}**`,
    verdict.lines.map(plain).join("\n"),
    ...(all
      ? [table(["", ""], aboutOf(facts)), ...found(facts), ...changed(facts), ...times(facts)]
      : brief(facts)),
    "## What rollback does",
    undoLines(facts)
      .map((line) => `- ${plain(line)}`)
      .join("\n"),
    facts.undo.map((line) => `    ${visible(line)}`).join("\n"),
    "## Sign-off",
    table(
      ["Role", "Name", "Go / no go", "Date"],
      SIGNERS.map((role) => [role, "", "", ""]),
    ),
    plain(boundTo(facts)),
    plain(PROMISE),
    ...(all
      ? []
      : ["Warnings with their actions, hosts, steps and commands: report --format md --all."]),
  ];
  return `${pieces.join("\n\n")}\n`;
}

/** The facts for a change board: counts, tasks, accepted findings and duration. */
function brief(facts: ReportFacts): readonly string[] {
  const { totals, nova } = facts;
  const open = totals.found.filter(({ open: machines, elsewhere }) => machines + elsewhere > 0);
  const of = (level: Severity) => open.filter(({ severity }) => severity === level);
  const counts = (some: readonly (readonly [string, number])[]): string =>
    some.map(([name, count]) => `${name} ${count}`).join(", ") || "none";
  const rows: readonly Cells[] = [
    ...aboutOf(facts),
    ["Machines", counts(verdictRows(facts).map(({ verdict, machines }) => [verdict, machines]))],
    ["Warnings", counts(of("warning").map((one) => [one.code, one.open + one.elsewhere]))],
    ["Accepted by name", counts(totals.accepted.map(({ code, machines }) => [code, machines]))],
    [
      "Rows of Nova",
      nova === null ? "not planned" : counts(nova.groups.map((one) => [one.table, one.rows])),
    ],
    ["The window", nightText(facts.night, facts.window)],
  ];
  const first = of("blocks").map((one) => [
    ...[one.code, one.open + one.elsewhere, FINDINGS[one.code].title],
  ]);
  return [
    table(["", ""], rows, rows.length),
    ...section(
      "To do before the window",
      table(["Finding", "Machines", "What"], first, MOST_BRIEF),
    ),
  ];
}

function found(facts: ReportFacts): readonly string[] {
  const { totals } = facts;
  const open = totals.found.filter(({ open: machines, elsewhere }) => machines + elsewhere > 0);
  const of = (level: Severity) => foundTable(open.filter(({ severity }) => severity === level));
  const verdicts = verdictRows(facts).map((row) => [row.verdict, row.machines, row.means]);
  const accepted = totals.accepted.map(({ code, machines, reason }) => [
    ...[code, machines, FINDINGS[code].title, reason],
  ]);
  const hosts = hostRows(facts);
  const skipped = totals.skipped.map(({ machines, reason }) => [machines, reason]);
  return [
    ...section("Machines", table(["Verdict", "Machines", "Meaning"], verdicts)),
    ...section("Machines by compute host", table(hosts.titles, hosts.rows)),
    ...section("To do before the window", of("blocks")),
    ...section("Warnings", of("warning")),
    ...section("Accepted by name", table(["Finding", "Machines", "Title", "Reason"], accepted)),
    ...section("Excluded on purpose", table(["Machines", "Reason"], skipped)),
  ];
}

function changed({ nova }: ReportFacts): readonly string[] {
  const groups = nova?.groups ?? [];
  const rows = groups.map(({ table: of, rows, change, what }) => [of, rows, `${change}: ${what}`]);
  const found = nova?.findings.map(({ code, place, message }) => [code, place, message]) ?? [];
  const more = (nova?.counts.findings ?? 0) - found.length;
  return [
    ...section("What changes in Nova", table(["Table", "Rows", "Change"], rows)),
    ...section("Found in Nova", table(["Code", "Where", "What"], found, found.length)),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

function times(facts: ReportFacts): readonly string[] {
  const took = (seconds: number | null): string => (seconds === null ? "" : duration(seconds));
  const night = nightRows(facts);
  const ran = facts.ran
    .slice(-MOST)
    .map((one) => [second(one.at), one.command, took(one.seconds), one.result, one.by]);
  const titles = ["Time (UTC)", "Command", "Took", "Result", "By"];
  return [
    ...section("The window", table(night.titles, night.rows, night.rows.length)),
    plain(nightText(facts.night, facts.window)),
    ...section("Commands so far", table(titles, ran)),
  ];
}

function section(title: string, rows: string): readonly string[] {
  return rows === "" ? [] : [`## ${title}`, rows];
}

function foundTable(groups: readonly FoundGroup[]): string {
  return table(
    ["Finding", "Machines", "Finding and action", "For example"],
    groups.map(({ code, open, elsewhere, examples }) => [
      code,
      open > 0 ? open : `${counted(elsewhere, "row")} without a machine`,
      `${FINDINGS[code].title}. ${FINDINGS[code].advice}`,
      examples.join(" "),
    ]),
  );
}

function table(titles: readonly string[], rows: readonly Cells[], most = MOST): string {
  if (rows.length === 0) return "";
  const line = (row: Cells): string => `| ${row.map((cell) => plain(String(cell))).join(" | ")} |`;
  const more = rows.length - most;
  return [
    line(titles),
    `|${" --- |".repeat(titles.length)}`,
    ...rows.slice(0, most).map(line),
    ...(more > 0 ? [line([`and ${more} more`, ...titles.slice(1).map(() => "")])] : []),
  ].join("\n");
}

/** Escapes Markdown in a text that may come from a database, on one line. */
function plain(text: string): string {
  return visible(text).replace(/[\\`*[\]<>#|~&]|(?<![a-z0-9])_|_(?![a-z0-9])/gi, "\\$&");
}
