import { counted, duration } from "../../lib/text.ts";
import { SIGNS, serverName } from "../../migrate/plan/rules/summary.ts";
import { stepsOf } from "../../model/nova/nova-plan.ts";
import type { Verdict } from "../../model/plan.ts";
import type { ReportFacts } from "./rules/facts.ts";
import { clock } from "./rules/night.ts";
import { minute } from "./rules/window.ts";

/** Reviewers need to know that the command is read-only. */
export const PROMISE =
  "This report was created from the run's files, without access to any database. It does not contain passwords.";

/** Source and target of the plan, one line each. */
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

/** The verdicts of the plan, with their meaning. */
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
