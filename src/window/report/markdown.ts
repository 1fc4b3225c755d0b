import { visible } from "../../lib/table/text.ts";
import { counted, duration } from "../../lib/text.ts";
import { SIGNS, serverName } from "../../migrate/plan/rules/summary.ts";
import { FINDINGS, type Severity } from "../../model/findings.ts";
import { stepsOf } from "../../model/nova/nova-plan.ts";
import type { Verdict } from "../../model/plan.ts";
import type { ReportFacts } from "./report.ts";
import { clock, minute, nightText, second } from "./rules/window.ts";

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
  const counts = (some: readonly (readonly [string, number])[]): string =>
    some.map(([name, count]) => `${name} ${count}`).join(", ") || "none";
  const rows: readonly Cells[] = [
    ...aboutOf(facts),
    ["Machines", counts(verdictRows(facts).map(({ verdict, machines }) => [verdict, machines]))],
    [
      "Warnings",
      counts(openOf(facts, "warning").map((one) => [one.code, one.open + one.elsewhere])),
    ],
    ["Accepted by name", counts(totals.accepted.map(({ code, machines }) => [code, machines]))],
    [
      "Rows of Nova",
      nova === null ? "not planned" : counts(nova.groups.map((one) => [one.table, one.rows])),
    ],
    ["The window", nightText(facts.night, facts.window)],
  ];
  const first = openOf(facts, "blocks").map((one) => [
    ...[one.code, one.open + one.elsewhere, FINDINGS[one.code].title],
  ]);
  return [
    table(["", ""], rows, rows.length),
    ...section("To do before the window", ["Finding", "Machines", "What"], first, MOST_BRIEF),
  ];
}

function found(facts: ReportFacts): readonly string[] {
  const { totals } = facts;
  const of = (title: string, level: Severity) =>
    section(
      title,
      ["Finding", "Machines", "Finding and action", "For example"],
      openOf(facts, level).map(({ code, open, elsewhere, examples }) => [
        ...[code, open > 0 ? open : `${counted(elsewhere, "row")} without a machine`],
        ...[`${FINDINGS[code].title}. ${FINDINGS[code].advice}`, examples.join(" ")],
      ]),
    );
  const verdicts = verdictRows(facts).map((row) => [row.verdict, row.machines, row.means]);
  const accepted = totals.accepted.map(({ code, machines, reason }) => [
    ...[code, machines, FINDINGS[code].title, reason],
  ]);
  const hosts = hostRows(facts);
  const skipped = totals.skipped.map(({ machines, reason }) => [machines, reason]);
  return [
    ...section("Machines", ["Verdict", "Machines", "Meaning"], verdicts),
    ...section("Machines by compute host", hosts.titles, hosts.rows),
    ...of("To do before the window", "blocks"),
    ...of("Warnings", "warning"),
    ...section("Accepted by name", ["Finding", "Machines", "Title", "Reason"], accepted),
    ...section("Excluded on purpose", ["Machines", "Reason"], skipped),
  ];
}

export function openOf({ totals }: ReportFacts, level: Severity) {
  return totals.found.filter(
    ({ severity, open, elsewhere }) => severity === level && open + elsewhere > 0,
  );
}

function changed({ nova }: ReportFacts): readonly string[] {
  const groups = nova?.groups ?? [];
  const rows = groups.map(({ table: of, rows, change, what }) => [of, rows, `${change}: ${what}`]);
  const found = nova?.findings.map(({ code, place, message }) => [code, place, message]) ?? [];
  const more = (nova?.counts.findings ?? 0) - found.length;
  return [
    ...section("What changes in Nova", ["Table", "Rows", "Change"], rows),
    ...section("Found in Nova", ["Code", "Where", "What"], found, found.length),
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
    ...section("The window", night.titles, night.rows, night.rows.length),
    plain(nightText(facts.night, facts.window)),
    ...section("Commands so far", titles, ran),
  ];
}

function section(title: string, ...of: Parameters<typeof table>): readonly string[] {
  return of[1].length === 0 ? [] : [`## ${title}`, table(...of)];
}

function table(titles: readonly string[], rows: readonly Cells[], most = MOST): string {
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

/** Reviewers need to know that the command is read-only. */
export const PROMISE =
  "This report was created from the run's files, without access to any database. It does not contain passwords.";

export function aboutOf(facts: ReportFacts): readonly (readonly [string, string])[] {
  const { run, at, tool, plan, state } = facts;
  const { source, target, target_before } = plan.header;
  const { power, site } = plan.header.made_from;
  const read = plan.taken_at === null ? "" : `, read ${minute(plan.taken_at)} UTC`;
  const version = target.engine === "rest" ? "microversion" : "alembic";
  const release = `Ironic ${target.release}, ${version} ${target.alembic_head}`;
  const before = `${counted(target_before.nodes, "node")} there before`;
  const oldest = power?.oldest ? `, the oldest reading ${minute(power.oldest)} UTC` : "";
  return [
    ["Run", run],
    ["Made", `${minute(at)} UTC by ${tool}`],
    ["Source", `${serverName(source.nova_bm)}${read}`],
    ["Target", `${serverName(target)} (${release}), ${before}`],
    ["Power", power === null ? "BMCs were not asked" : `BMCs asked${oldest}`],
    ["Site document", site === null ? "none" : `sha256 ${site.slice(0, 12)}`],
    ["Plan", `sha256 ${plan.sha256}`],
    ["Rehearsal", state.rehearse ?? "none"],
  ];
}

export function verdictRows({ plan }: ReportFacts) {
  // The names of an object of this type are its keys, which Object.keys does not type.
  return (Object.keys(SIGNS) as Verdict[])
    .map((verdict) => ({
      verdict,
      machines: plan.counts.verdicts[verdict],
      means: SIGNS[verdict][1],
    }))
    .filter(({ machines }) => machines > 0);
}

/** Machines by compute host, with a column for each verdict of the plan. */
export function hostRows(facts: ReportFacts) {
  const verdicts = verdictRows(facts).map(({ verdict }) => verdict);
  return {
    titles: ["Compute host", "Machines", ...verdicts],
    rows: facts.totals.hosts.map(({ host, machines, verdicts: counts }) => [
      ...[host ?? "(none)", machines],
      ...verdicts.map((verdict) => counts[verdict]),
    ]),
  };
}

/** The steps of the migration, with clock times if its start is planned. */
export function nightRows({ night, window }: ReportFacts) {
  const until = window === null ? "In all" : "Ends at";
  return {
    titles: [
      ...["Step", "Takes", until, "Way back"],
      ...(window === null ? [] : ["Turn back by"]),
      "Figure from",
    ],
    rows: night.map(({ name, seconds, ends, back, source }) => [
      ...[name, duration(seconds)],
      ...[window === null ? duration(ends) : clock(window, ends), duration(back)],
      ...(window === null
        ? []
        : [back > (window.to - window.from) * 60 ? "" : clock(window, -back)]),
      source,
    ]),
  };
}

export function undoLines({ plan, nova }: ReportFacts): readonly string[] {
  const { nodes, ports } = plan.counts;
  const rows = nova === null ? 0 : stepsOf(nova.counts);
  return [
    `Removes the ${counted(nodes, "node")} and ${counted(ports, "port")} that apply creates, each only if it has not changed since it was loaded.`,
    ...(rows > 0 ? [`Restores ${counted(rows, "Nova row")} to the earlier values.`] : []),
    "Skips and lists every row that has changed since (exit status 2). A machine is rolled back completely or not at all.",
    "Does not revert boot files and DHCP options that a conductor wrote, so keep a copy of each TFTP tree.",
  ];
}

export const SIGNERS = ["Operator", "Owner of the service", "Change manager"] as const;

export function boundTo({ plan }: ReportFacts): string {
  return `This sheet is for the plan with sha256 ${plan.sha256} only. apply refuses the plan once source or target has changed.`;
}
