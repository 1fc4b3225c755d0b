import { createHash } from "node:crypto";
import { visible } from "../../../lib/table/text.ts";
import { counted } from "../../../lib/text.ts";
import { SIGNS } from "../../../migrate/plan/rules/summary.ts";
import type { pageAssets } from "../report-file.ts";
import { aboutOf, PROMISE } from "../report-text.ts";
import type { ReportFacts, ReportMachine } from "../rules/facts.ts";
import { island, VERDICTS } from "./blocks.ts";
import type { About } from "./data.ts";
import { escaped, isolated, section } from "./markup.ts";
import { sections, signOff } from "./sections.ts";

type Assets = ReturnType<typeof pageAssets>;

interface PageView {
  readonly facts: ReportFacts;
  /** Machines to show without scripts, those that need attention first. */
  readonly first: readonly ReportMachine[];
  /** Every machine, packed. */
  readonly machines: () => AsyncIterable<string>;
}

/** The report as one page, in pieces. Its policy forbids network, files and other scripts. */
export async function* page(shown: PageView, assets: Assets): AsyncGenerator<string> {
  const { facts, first, machines } = shown;
  yield beginning(facts, assets);
  yield `${sections(facts).join("\n")}\n`;
  yield machinesSection(facts, first);
  yield `${signOff(facts)}\n</main>\n${dialog()}\n`;
  const verdicts = VERDICTS.map((verdict) => ({ verdict, sign: SIGNS[verdict][0] }));
  yield island('id="about"', { run: visible(facts.run), verdicts } satisfies About);
  yield* machines();
  yield `<script>${assets.script}</script>\n</body>\n</html>\n`;
}

function digest(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

function beginning(facts: ReportFacts, { script, style }: Assets): string {
  const { verdict, run } = facts;
  const policy = `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; base-uri 'none'; form-action 'none'`;
  const about = aboutOf(facts).map(
    ([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${isolated(value)}</dd></div>`,
  );
  return `<!doctype html>
<!-- nova2ironic report -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>nova2ironic report: ${escaped(run)}</title>
<style>${style}</style>
</head>
<body>
<header>
<div><p class="over">nova-baremetal to Ironic</p><h1>Report of run ${isolated(run)}</h1></div>
<button type="button" id="print" hidden>Print</button>
</header>
<main>
<section class="banner ${verdict.level}" aria-labelledby="verdict">
<h2 id="verdict">${escaped(verdict.title)}</h2>
${verdict.lines.map((line) => `<p>${escaped(line)}</p>`).join("\n")}
</section>
<dl class="about">
${about.join("\n")}
</dl>
<p class="aside">${escaped(PROMISE)}</p>
<nav aria-label="Contents">${CONTENTS.map(([id, title]) => `<a href="#${id}">${title}</a>`).join("\n")}</nav>
`;
}

/** Links to the most important sections, whose ids are their titles. */
const CONTENTS = [
  ...[["to-do-before-the-window", "To do"] as const, ["findings", "Findings"] as const],
  ...[["the-window", "The window"] as const, ["what-rollback-does", "Rollback"] as const],
  ...[["machines", "Machines"] as const, ["sign-off", "Sign-off"] as const],
] as const;

const TITLES = [
  ...(["BM ID", "Verdict", "UUID", "BMC address", "Instance", "Compute host"] as const),
  "Findings, or why not",
] as const;

function machinesSection({ plan, totals }: ReportFacts, first: readonly ReportMachine[]): string {
  const rows = first.map(rowMarkup).join("\n");
  const { machines } = plan.counts;
  const verdicts = VERDICTS.filter((verdict) => plan.counts.verdicts[verdict] > 0);
  const codes = totals.found.filter((one) => one.machines > 0).map(({ code }) => code);
  const hosts = totals.hosts.map(({ host }) => host ?? "");
  const head = TITLES.map((title) => `<th scope="col">${title}</th>`).join("");
  return `${section(
    "Machines",
    `<noscript><p>These are ${first.length} of ${counted(machines, "machine")}. To search, and to see the fields of a machine, enable JavaScript or run: nova2ironic show RUN/plan --diff</p></noscript>
<form id="filters" class="filters" hidden>
<label>Search <input type="search" id="search" autocomplete="off" placeholder="uuid, address, host, instance"></label>
${select("verdict", "Verdict", verdicts)}
${select("finding", "Finding", codes)}
${select("host", "Host", hosts)}
<button type="button" id="save">Save as CSV</button>
</form>
<p id="count" role="status"></p>
<div class="wide" role="region" tabindex="0" aria-label="List of machines"><table id="list">
<thead><tr>${head}</tr></thead>
<tbody>
${rows}
</tbody></table></div>
<nav id="pages" aria-label="Pages of the list of machines" hidden></nav>`,
  )}\n`;
}

function select(id: string, title: string, values: readonly string[]): string {
  const options = values.map(
    (value) =>
      `<option value="${escaped(value)}">${value === "" ? "(none)" : escaped(value)}</option>`,
  );
  return `<label>${title} <select id="by-${id}"><option value="*">all</option>${options.join("")}</select></label>`;
}

function rowMarkup(machine: ReportMachine): string {
  const { bm_node_id, verdict, uuid, address, instance, host, reason, codes } = machine;
  const cells = [address, instance, host].map((value) => `<td>${isolated(value ?? "")}</td>`);
  const why = reason ?? codes.map((code) => code.slice("N2I-".length)).join(" ");
  return `<tr><td class="number">${bm_node_id}</td><td><span class="verdict ${verdict}">${verdict}</span></td><th scope="row" class="code">${escaped(uuid ?? "no uuid")}</th>${cells.join("")}<td>${isolated(why)}</td></tr>`;
}

function dialog(): string {
  return `<dialog id="machine" aria-labelledby="machine-title">
<div class="top"><h2 id="machine-title">Machine</h2><button type="button" id="close">Close</button></div>
<div id="detail"></div>
</dialog>`;
}
