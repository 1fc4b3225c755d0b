import { counted, duration } from "../../../lib/text.ts";
import { FINDINGS, type FindingCode } from "../../../model/findings.ts";
import { hostRows, nightRows, openOf, undoLines, verdictRows } from "../markdown.ts";
import type { ReportFacts } from "../report.ts";
import { nightText, second } from "../rules/window.ts";
import { type Cell, cell, code, escaped, isolated, section, table } from "./markup.ts";

/** Rows of a table of causes, more than any real deployment has. */
const MOST = 100;

const MARKS = { blocks: "✕", warning: "▲", note: "●" } as const;

/** The sections before the machines, in reading order. */
export function sections(facts: ReportFacts): readonly string[] {
  return [
    `<div class="two">${verdicts(facts)}\n${toDo(facts)}</div>`,
    hostsSection(facts),
    findings(facts),
    windowSection(facts),
    `<div class="two">${nova(facts)}\n${rollback(facts)}</div>`,
    accepted(facts),
    progressText(facts),
  ].filter((one) => one !== "");
}

function verdicts(facts: ReportFacts): string {
  const rows = verdictRows(facts);
  const parts = rows.map(({ verdict, machines }) => ({ name: verdict, count: machines }));
  const legend = rows.map(
    ({ verdict, machines, means }) =>
      `<li><a href="#verdict=${verdict}"><span class="key ${verdict}" aria-hidden="true"></span>${machines} ${verdict}</a> <span class="aside">${escaped(means)}</span></li>`,
  );
  const drawn = ring(facts.plan.counts.machines, parts);
  return section(
    "Machines by verdict",
    `<div class="beside">${drawn}\n<ul class="plain">\n${legend.join("\n")}\n</ul></div>`,
  );
}

function toDo(facts: ReportFacts): string {
  const open = openOf(facts, "blocks");
  if (open.length === 0)
    return section(
      "To do before the window",
      "<p>Nothing: no machine is blocked by an open finding.</p>",
    );
  const items = open.map(
    ({ code: of, open: machines, elsewhere }) =>
      `<li>${machines > 0 ? filterLink(of, counted(machines, "machine")) : counted(elsewhere, "row")}: ${escaped(FINDINGS[of].title)} <span class="code">${of}</span><p class="aside">${escaped(FINDINGS[of].advice)}</p></li>`,
  );
  return section("To do before the window", `<ol>\n${items.join("\n")}\n</ol>`);
}

function hostsSection(facts: ReportFacts): string {
  const { titles, rows } = hostRows(facts);
  const title = "Machines by compute host";
  const body = rows.slice(0, MOST).map((cells) => cells.map(cell));
  const more = rows.length - MOST;
  const rest = more > 0 ? `\n<p class="aside">and ${counted(more, "more host")}</p>` : "";
  const list = `${table(title, titles, body)}${rest}`;
  if (rows.length <= 12) return section(title, list);
  // A long list of hosts would hide more important facts.
  const summary = `<summary>${counted(rows.length, "host")}</summary>`;
  return section(title, `<details>${summary}\n${list}</details>`);
}

function filterLink(of: FindingCode, text: string): string {
  return `<a href="#finding=${of}">${escaped(text)}</a>`;
}

function findings({ totals }: ReportFacts): string {
  const { found } = totals;
  if (found.length === 0) return section("Findings", "<p>Nothing was found.</p>");
  const most = Math.max(...found.map(({ machines, elsewhere }) => Math.max(machines, elsewhere)));
  const rows = found
    .slice(0, MOST)
    .map((one) => [
      ...findingCells(one),
      ...[one.machines + one.elsewhere, one.open + one.elsewhere, one.accepted].map((count) =>
        count === 0 ? { markup: "–", of: "number" as const } : cell(count),
      ),
      {
        markup: bar(one.severity, one.machines + one.elsewhere - one.accepted, one.accepted, most),
      },
      {
        markup: `<strong>${escaped(FINDINGS[one.code].title)}</strong><p class="aside">${escaped(FINDINGS[one.code].advice)}</p>`,
      },
    ]);
  const titles = ["Code", "Severity", "All", "Open", "Accepted", "Share"];
  return tableSection("Findings", [...titles, "Meaning and action"], rows);
}

function findingCells(one: ReportFacts["totals"]["accepted" | "found"][number]): readonly Cell[] {
  const { code: of, severity } = one;
  return [
    { markup: filterLink(of, of), of: "code" },
    { markup: `<span class="${severity}">${MARKS[severity]} ${severity}</span>` },
  ];
}

/** A section of a table with the same title. Empty without rows. */
function tableSection(
  title: string,
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  return rows.length === 0 ? "" : section(title, table(title, titles, rows));
}

function windowSection(facts: ReportFacts): string {
  const { night, window } = facts;
  const { titles, rows } = nightRows(facts);
  const body = night.map((step, at) => {
    const [name = "", ...times] = rows[at]?.slice(0, -1) ?? [];
    return [
      { markup: escaped(name) },
      ...times.map((time) => ({ markup: time, of: "number" as const })),
      { markup: span(night, at) },
      { markup: `<span class="${step.basis}">${escaped(step.source)}</span>` },
    ];
  });
  const total = `<p>${escaped(nightText(night, window))}</p>`;
  const heads = [...titles.slice(0, -1), "When", ...titles.slice(-1)];
  return section("The window", `${table("Steps of the window", heads, body)}\n${total}`);
}

function nova({ nova: totals }: ReportFacts): string {
  const title = "What changes in Nova";
  if (totals === null)
    return section(
      title,
      "<p>Nova's rows are not in this plan, so instances keep their current host.</p>",
    );
  const found = novaFound(totals);
  if (totals.groups.length === 0) return section(title, `<p>No Nova row changes.</p>${found}`);
  const rows = totals.groups
    .slice(0, MOST)
    .map(({ table: of, rows: many, change, what }) => [
      ...[code(of), cell(many), { markup: `${change}: ${isolated(what)}` }],
    ]);
  return section(title, `${table(title, ["Table", "Rows", "Change"], rows)}${found}`);
}

function novaFound({ findings: found, counts }: NonNullable<ReportFacts["nova"]>): string {
  if (found.length === 0) return "";
  const rows = found.map((one) => [code(one.code), cell(one.place), cell(one.message)]);
  const more = counts.findings - found.length;
  const rest = more > 0 ? `\n<p class="aside">and ${more} more</p>` : "";
  return `\n<h3>Found in Nova</h3>\n${table("Found in Nova", ["Code", "Where", "What"], rows)}${rest}`;
}

function rollback(facts: ReportFacts): string {
  const lines = undoLines(facts).map((line) => `<li>${escaped(line)}</li>`);
  const commands = facts.undo.map((line) => escaped(line)).join("\n");
  return section(
    "What rollback does",
    `<ul>\n${lines.join("\n")}\n</ul>\n<pre tabindex="0">${commands}</pre>`,
  );
}

function accepted({ totals }: ReportFacts): string {
  const rows = totals.accepted.map((one) => [
    ...findingCells(one),
    ...[one.machines, FINDINGS[one.code].title, one.reason].map(cell),
  ]);
  const skipped = totals.skipped.map((one) => [cell(one.machines), cell(one.reason)]);
  const titles = ["Finding", "Severity", "Machines", "Title", "Reason given"];
  return [
    tableSection("Accepted by name", titles, rows),
    tableSection("Excluded on purpose", ["Machines", "Reason given"], skipped),
  ]
    .filter((one) => one !== "")
    .join("\n");
}

function progressText({ ran, state, next }: ReportFacts): string {
  const stages = Object.entries(state).map(([stage, is]) => [code(stage), cell(is)]);
  const commands = ran.map((one) => [
    ...[code(second(one.at)), cell(one.command)],
    { markup: one.seconds === null ? "" : duration(one.seconds), of: "number" as const },
    ...[cell(one.result), cell(one.by)],
  ]);
  const status = table("State of the run", ["Stage", "What is true"], stages);
  const log =
    commands.length === 0
      ? ""
      : `<details><summary>${counted(commands.length, "command")} so far (log.jsonl, window.jsonl)</summary>\n${table("Commands so far", ["Time (UTC)", "Command", "Took", "Result", "By"], commands)}</details>`;
  return section("The run so far", `${status}\n<p>Next: <code>${escaped(next)}</code></p>\n${log}`);
}

/** A circle of this radius has length 100, so lengths are percentages. */
const RADIUS = 15.9155;

/** A ring chart. Its colors are classes, because the page's policy forbids inline styles. */
function ring(
  total: number,
  parts: readonly { readonly name: string; readonly count: number }[],
): string {
  let before = 0;
  const arcs = parts.map(({ name, count }) => {
    const share = total === 0 ? 0 : (100 * count) / total;
    const arc = `<circle class="arc ${name}" cx="21" cy="21" r="${RADIUS}" stroke-dasharray="${share.toFixed(3)} ${(100 - share).toFixed(3)}" stroke-dashoffset="${(25 - before).toFixed(3)}"/>`;
    before += share;
    return arc;
  });
  const description = parts.map(({ name, count }) => `${count} ${name}`).join(", ");
  return `<svg class="ring" viewBox="0 0 42 42" role="img" aria-label="Of ${counted(total, "machine")}: ${escaped(description)}">
<circle class="arc empty" cx="21" cy="21" r="${RADIUS}"/>
${arcs.join("\n")}
<text x="21" y="21.5" class="large">${total}</text><text x="21" y="26" class="small">machines</text>
</svg>`;
}

/** A number relative to the largest of its column, with accepted ones lighter. */
function bar(severity: string, open: number, accepted: number, most: number): string {
  const width = (count: number): number => (count === 0 ? 0 : Math.max(1, (100 * count) / most));
  const [first, second] = [width(open).toFixed(2), width(accepted).toFixed(2)];
  return barOf(
    `<rect class="${severity}" width="${first}" height="8"/><rect class="accepted" x="${first}" width="${second}" height="8"/>`,
  );
}

function span(night: ReportFacts["night"], at: number): string {
  const [step, total] = [night[at], night.at(-1)?.ends ?? 0];
  if (step === undefined || total === 0) return "";
  const [x, width] = [(96 * step.begins) / total, Math.max(0.7, (96 * step.seconds) / total)];
  return barOf(
    `<rect class="${step.basis}" x="${x.toFixed(2)}" width="${width.toFixed(2)}" height="8"/>`,
  );
}

function barOf(drawn: string): string {
  return `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">${drawn}</svg>`;
}
