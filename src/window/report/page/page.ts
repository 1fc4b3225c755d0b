import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { visible } from "../../../lib/table/text.ts";
import { counted } from "../../../lib/text.ts";
import { diffOf } from "../../../migrate/plan/rules/diff.ts";
import { SIGNS } from "../../../migrate/plan/rules/summary.ts";
import type { Origins, PlannedMachine, Verdict } from "../../../model/plan.ts";
import { aboutOf, boundTo, PROMISE, SIGNERS } from "../markdown.ts";
import type { Reported, ReportFacts, report } from "../report.ts";
import type { pageAssets } from "../report-file.ts";
import { type About, DETAILS, type Detail, type DetailBlock, type ListedMachine } from "./data.ts";
import { cell, escaped, isolated, section, sections, table } from "./sections.ts";

/** Machines per block of the index. */
const INDEXED = 4_000;

/** Verdicts in the order of the page: those that need attention first. */
const VERDICTS: readonly Verdict[] = [
  ...(["blocked", "conflict", "drift", "create", "unchanged", "skipped"] as const),
];

/** Data as base64, which contains no markup. */
function island(about: string, value: unknown): string {
  const packed = gzipSync(JSON.stringify(value)).toString("base64");
  return `<script type="text/plain" ${about}>${packed}</script>\n`;
}

/** Packs machines in a stream, with one block of each kind in memory. */
export async function* packed(
  machines: AsyncIterable<readonly Reported[]>,
  origins: Origins,
): AsyncGenerator<string> {
  let [rows, details, block]: [ListedMachine[], Detail[], number] = [[], [], 0];
  let indexes = new Map<string, number>();
  const detailsMarkup = (): string => {
    const value: DetailBlock = { origins: [...indexes.keys()], machines: details };
    const markup = island(`id="details-${block}"`, value);
    [details, indexes, block] = [[], new Map(), block + 1];
    return markup;
  };
  for await (const batch of machines)
    for (const { machine, planned } of batch) {
      const { bm_node_id, verdict, uuid, address, instance, host, reason } = machine;
      const texts = [uuid, address, instance, host, reason, machine.instance_uuid].map((value) =>
        visible(value ?? ""),
      ) as [string, string, string, string, string, string]; // as many as values
      rows.push([bm_node_id, VERDICTS.indexOf(verdict), ...texts, codesOf(machine)]);
      details.push(detailOf(planned, origins, indexes));
      if (rows.length === INDEXED) yield island('class="index"', rows.splice(0));
      if (details.length === DETAILS) yield detailsMarkup();
    }
  if (rows.length > 0) yield island('class="index"', rows);
  if (details.length > 0) yield detailsMarkup();
}

function codesOf({ codes }: Reported["machine"]): string {
  return codes.map((code) => code.slice("N2I-".length)).join(" ");
}

/** @param indexes origins of the block with their indexes, to which new ones are added */
function detailOf(machine: PlannedMachine, origins: Origins, indexes: Map<string, number>): Detail {
  const { bm_node_id, verdict, state, findings, records } = machine;
  const indexOfOrigin = (origin: string | null): number => {
    if (origin === null) return -1;
    const location = indexes.get(origin) ?? indexes.size;
    indexes.set(origin, location);
    return location;
  };
  return {
    title: `bm_nodes.id=${bm_node_id}: ${verdict}, state ${state.row} -> ${state.outcome}`,
    found: findings.map(({ code, severity, place: location, message, accepted }) => [
      ...([code, severity, visible(location), visible(message), visible(accepted ?? "")] as const),
    ]),
    records: records.map((record) => {
      const { title, lines, hidden } = diffOf(record, origins, machine, false);
      const marked = lines.map(
        ({ sign, text, origin }) => [visible(`${sign}${text}`), indexOfOrigin(origin)] as const,
      );
      return [visible(title), marked, hidden];
    }),
  };
}

type Assets = ReturnType<typeof pageAssets>;
type Made = Awaited<ReturnType<typeof report>>;

/** The report as one page, in pieces. Its policy forbids network, files and other scripts. */
export async function* page(
  { facts, first, machines }: Made & { readonly machines: () => AsyncIterable<string> },
  assets: Assets,
): AsyncGenerator<string> {
  yield beginning(facts, assets);
  yield `${sections(facts).join("\n")}\n`;
  yield machinesSection(facts, first);
  yield `${signOff(facts)}\n</main>\n${DIALOG}\n`;
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

function machinesSection({ plan, totals }: ReportFacts, first: Made["first"]): string {
  const rows = first.map(rowMarkup).join("\n");
  const { machines } = plan.counts;
  const verdicts = VERDICTS.filter((verdict) => plan.counts.verdicts[verdict] > 0);
  const codes = totals.found.filter((one) => one.machines > 0).map(({ code }) => code);
  const hosts = totals.hosts.map(({ host }) => host ?? "");
  const titles = ["BM ID", "Verdict", "UUID", "BMC address", "Instance", "Compute host"];
  const head = [...titles, "Findings, or why not"].map((title) => `<th scope="col">${title}</th>`);
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
<thead><tr>${head.join("")}</tr></thead>
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

function rowMarkup(machine: Reported["machine"]): string {
  const { bm_node_id, verdict, uuid, address, instance, host, reason } = machine;
  const cells = [address, instance, host].map((value) => `<td>${isolated(value ?? "")}</td>`);
  const cause = reason ?? codesOf(machine);
  return `<tr><td class="number">${bm_node_id}</td><td><span class="verdict ${verdict}">${verdict}</span></td><th scope="row" class="code">${escaped(uuid ?? "no uuid")}</th>${cells.join("")}<td>${isolated(cause)}</td></tr>`;
}

const DIALOG = `<dialog id="machine" aria-labelledby="machine-title">
<div class="top"><h2 id="machine-title">Machine</h2><button type="button" id="close">Close</button></div>
<div id="detail"></div>
</dialog>`;

function signOff(facts: ReportFacts): string {
  const rows = SIGNERS.map((role) => [
    ...[cell(role), cell("")],
    { markup: "☐ go &nbsp; ☐ no go" },
    ...[cell(""), cell("")],
  ]);
  const sheet = table("Sign-off", ["Role", "Name", "Decision", "Date", "Signature"], rows);
  return section("Sign-off", `${sheet}\n<p class="aside">${escaped(boundTo(facts))}</p>`).replace(
    "<section",
    '<section class="sign"',
  );
}
