import { visible } from "../../../lib/table/text.ts";
import { counted, duration } from "../../../lib/text.ts";
import { FINDINGS, type FindingCode } from "../../../model/findings.ts";
import { hostRows, nightRows, openOf, undoLines, verdictRows } from "../markdown.ts";
import type { ReportFacts } from "../report.ts";
import { nightText, second } from "../rules/window.ts";

/** Rows of a table of causes, more than any real deployment has. */
const MOST = 100;

const MARKS = { blocks: "✕", warning: "▲", note: "●" } as const;

const HTML: { readonly [character: string]: string } = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};

/** Escapes a value that may come from a database, for text or an attribute. */
export function escaped(value: string | number): string {
  return visible(String(value)).replace(/[&<>"']/g, (character) => HTML[character] ?? character);
}

/** A value with its own reading direction. */
export function isolated(value: string): string {
  return `<bdi>${escaped(value)}</bdi>`;
}

/** A cell of a table, its content as markup. */
interface Cell {
  readonly markup: string;
  readonly of?: "number" | "code";
}

export function cell(value: string | number): Cell {
  return typeof value === "number" ? number(String(value)) : { markup: isolated(value) };
}

function number(markup: string): Cell {
  return { markup, of: "number" };
}

function code(value: string): Cell {
  return { markup: escaped(value), of: "code" };
}

/** A table that scrolls sideways by keyboard. The first cell of a row is its header. */
export function table(
  caption: string,
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const kind = (of: Cell["of"]): string => (of === undefined ? "" : ` class="${of}"`);
  const head = titles.map((title, at) => {
    const of = rows[0]?.[at]?.of === "number" ? "number" : undefined;
    return `<th scope="col"${kind(of)}>${escaped(title)}</th>`;
  });
  const body = rows.map((cells) => {
    // On a narrow screen, cells are stacked, each with its title.
    const marked = cells.map(({ markup, of }, at) =>
      at === 0
        ? `<th scope="row"${kind(of)}>${markup}</th>`
        : `<td${kind(of)} data-title="${escaped(titles[at] ?? "")}">${markup}</td>`,
    );
    return `<tr>${marked.join("")}</tr>`;
  });
  return `<div class="wide stack" role="region" tabindex="0" aria-label="Table: ${escaped(caption)}"><table>
<thead><tr>${head.join("")}</tr></thead>
<tbody>
${body.join("\n")}
</tbody></table></div>`;
}

export function section(title: string, body: string): string {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return `<section aria-labelledby="${id}">\n<h2 id="${id}">${escaped(title)}</h2>\n${body}\n</section>`;
}

/** A section of a table with the same title. Empty without rows. */
function tableSection(...of: Parameters<typeof table>): string {
  return of[2].length === 0 ? "" : section(of[0], table(...of));
}

function paragraph(text: string): string {
  return `<p class="aside">${text}</p>`;
}

/** The sections before the machines, in reading order. */
export function sections(facts: ReportFacts): readonly string[] {
  return [
    `<div class="two">${verdicts(facts)}\n${toDo(facts)}</div>`,
    hostsSection(facts),
    findings(facts),
    windowSection(facts),
    `<div class="two">${nova(facts)}\n${rollback(facts)}</div>`,
    ...accepted(facts),
    progressText(facts),
  ].filter((one) => one !== "");
}

/** A circle of this radius has length 100, so lengths are percentages. */
const RADIUS = 15.9155;

/** With a ring chart. Its colors are classes, because the page's policy forbids inline styles. */
function verdicts(facts: ReportFacts): string {
  const rows = verdictRows(facts);
  const total = facts.plan.counts.machines;
  const legend = rows.map(
    ({ verdict, machines, means }) =>
      `<li><a href="#verdict=${verdict}"><span class="key ${verdict}" aria-hidden="true"></span>${machines} ${verdict}</a> <span class="aside">${escaped(means)}</span></li>`,
  );
  let before = 0;
  const arcs = rows.map(({ verdict, machines }) => {
    const share = total === 0 ? 0 : (100 * machines) / total;
    const arc = `<circle class="arc ${verdict}" cx="21" cy="21" r="${RADIUS}" stroke-dasharray="${share.toFixed(3)} ${(100 - share).toFixed(3)}" stroke-dashoffset="${(25 - before).toFixed(3)}"/>`;
    before += share;
    return arc;
  });
  const description = rows.map(({ verdict, machines }) => `${machines} ${verdict}`).join(", ");
  return section(
    "Machines by verdict",
    `<div class="with-ring"><svg class="ring" viewBox="0 0 42 42" role="img" aria-label="Of ${counted(total, "machine")}: ${escaped(description)}">
<circle class="arc empty" cx="21" cy="21" r="${RADIUS}"/>
${arcs.join("\n")}
<text x="21" y="21.5" class="large">${total}</text><text x="21" y="26" class="small">machines</text>
</svg>
<ul class="plain">
${legend.join("\n")}
</ul></div>`,
  );
}

function toDo(facts: ReportFacts): string {
  const items = openOf(facts, "blocks").map(
    ({ code: of, open: machines, elsewhere }) =>
      `<li>${machines > 0 ? filterLink(of, counted(machines, "machine")) : counted(elsewhere, "row")}: ${escaped(FINDINGS[of].title)} <span class="code">${of}</span>${paragraph(escaped(FINDINGS[of].advice))}</li>`,
  );
  return section(
    "To do before the window",
    items.length === 0
      ? "<p>Nothing: no machine is blocked by an open finding.</p>"
      : `<ol>\n${items.join("\n")}\n</ol>`,
  );
}

function hostsSection(facts: ReportFacts): string {
  const { titles, rows } = hostRows(facts);
  const title = "Machines by compute host";
  const body = rows.slice(0, MOST).map((cells) => cells.map(cell));
  const more = rows.length - MOST;
  const rest = more > 0 ? `\n${paragraph(`and ${counted(more, "more host")}`)}` : "";
  const list = `${table(title, titles, body)}${rest}`;
  if (rows.length <= 12) return section(title, list);
  // A long list of hosts would hide more important facts.
  const summary = `<summary>${counted(rows.length, "host")}</summary>`;
  return section(title, `<details>${summary}\n${list}</details>`);
}

function filterLink(of: FindingCode, text: string): string {
  return `<a href="#finding=${of}">${escaped(text)}</a>`;
}

function findings({ totals: { found } }: ReportFacts): string {
  if (found.length === 0) return section("Findings", "<p>Nothing was found.</p>");
  const most = Math.max(...found.map(({ machines, elsewhere }) => Math.max(machines, elsewhere)));
  const widthOf = (count: number): string =>
    (count === 0 ? 0 : Math.max(1, (100 * count) / most)).toFixed(2);
  const rows = found.slice(0, MOST).map((one) => {
    const { machines, elsewhere, open, accepted } = one;
    const all = machines + elsewhere;
    const { title, advice } = FINDINGS[one.code];
    // Relative to the largest, with accepted ones lighter.
    const width = widthOf(all - accepted);
    return [
      ...findingCells(one),
      ...[all, open + elsewhere, accepted].map((count) =>
        count === 0 ? number("–") : cell(count),
      ),
      bar(
        `<rect class="${one.severity}" width="${width}" height="8"/><rect class="accepted" x="${width}" width="${widthOf(accepted)}" height="8"/>`,
      ),
      { markup: `<strong>${escaped(title)}</strong>${paragraph(escaped(advice))}` },
    ];
  });
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

function windowSection(facts: ReportFacts): string {
  const { night, window } = facts;
  const { titles, rows } = nightRows(facts);
  const total = night.at(-1)?.ends ?? 0;
  const body = night.map(({ begins, seconds, basis, source }, at) => {
    const [name = "", ...times] = rows[at]?.slice(0, -1) ?? [];
    const [x, width] = [(96 * begins) / total, Math.max(0.7, (96 * seconds) / total)];
    return [
      { markup: escaped(name) },
      ...times.map(number),
      total === 0
        ? { markup: "" }
        : bar(
            `<rect class="${basis}" x="${x.toFixed(2)}" width="${width.toFixed(2)}" height="8"/>`,
          ),
      { markup: `<span class="${basis}">${escaped(source)}</span>` },
    ];
  });
  const heads = [...titles.slice(0, -1), "When", ...titles.slice(-1)];
  const text = `<p>${escaped(nightText(night, window))}</p>`;
  return section("The window", `${table("Steps of the window", heads, body)}\n${text}`);
}

function bar(drawn: string): Cell {
  return {
    markup: `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">${drawn}</svg>`,
  };
}

function nova({ nova: totals }: ReportFacts): string {
  const title = "What changes in Nova";
  if (totals === null)
    return section(
      title,
      "<p>Nova's rows are not in this plan, so instances keep their current host.</p>",
    );
  const { groups, findings: found, counts } = totals;
  const rows = groups
    .slice(0, MOST)
    .map(({ table: of, rows: many, change, what }) => [
      ...[code(of), cell(many), { markup: `${change}: ${isolated(what)}` }],
    ]);
  const changes =
    groups.length === 0
      ? "<p>No Nova row changes.</p>"
      : table(title, ["Table", "Rows", "Change"], rows);
  if (found.length === 0) return section(title, changes);
  const rowsFound = found.map((one) => [code(one.code), cell(one.place), cell(one.message)]);
  const more = counts.findings - found.length;
  const rest = more > 0 ? `\n${paragraph(`and ${more} more`)}` : "";
  const list = table("Found in Nova", ["Code", "Where", "What"], rowsFound);
  return section(title, `${changes}\n<h3>Found in Nova</h3>\n${list}${rest}`);
}

function rollback(facts: ReportFacts): string {
  const lines = undoLines(facts).map((line) => `<li>${escaped(line)}</li>`);
  const commands = facts.undo.map(escaped).join("\n");
  return section(
    "What rollback does",
    `<ul>\n${lines.join("\n")}\n</ul>\n<pre tabindex="0">${commands}</pre>`,
  );
}

function accepted({ totals }: ReportFacts): readonly string[] {
  const rows = totals.accepted.map((one) => [
    ...findingCells(one),
    ...[one.machines, FINDINGS[one.code].title, one.reason].map(cell),
  ]);
  const skipped = totals.skipped.map((one) => [cell(one.machines), cell(one.reason)]);
  const titles = ["Finding", "Severity", "Machines", "Title", "Reason given"];
  return [
    tableSection("Accepted by name", titles, rows),
    tableSection("Excluded on purpose", ["Machines", "Reason given"], skipped),
  ];
}

function progressText({ ran, state, next }: ReportFacts): string {
  const stages = Object.entries(state).map(([stage, is]) => [code(stage), cell(is)]);
  const commands = ran.map((one) => [
    ...[code(second(one.at)), cell(one.command)],
    number(one.seconds === null ? "" : duration(one.seconds)),
    ...[cell(one.result), cell(one.by)],
  ]);
  const status = table("State of the run", ["Stage", "What is true"], stages);
  const log =
    commands.length === 0
      ? ""
      : `<details><summary>${counted(commands.length, "command")} so far (log.jsonl, window.jsonl)</summary>\n${table("Commands so far", ["Time (UTC)", "Command", "Took", "Result", "By"], commands)}</details>`;
  return section("The run so far", `${status}\n<p>Next: <code>${escaped(next)}</code></p>\n${log}`);
}
