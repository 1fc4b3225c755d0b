import { drawer, EXAMPLES, SCREENFUL } from "../../lib/table/groups.ts";
import type { ConnectionOptions } from "../../migrate/flavors/flavor-api.ts";
import type { NovaRequest } from "../../migrate/hosts/nova-plan.ts";
import type { TargetOptions } from "../../migrate/open/backend.ts";
import { isBlockedPlan, loadable, requiresPower } from "../../migrate/plan/empty-plan.ts";
import { type PlanCommandOptions, plan, writeProposal } from "../../migrate/plan/plan.ts";
import {
  renderCounts,
  renderFinding,
  renderFindingCounts,
  renderHeader,
  renderLine,
  renderNovaCounts,
  SIGNS,
} from "../../migrate/plan/rules/summary.ts";
import type { PlanCounts } from "../../model/artefact.ts";
import { FINDINGS, type Finding, type FindingCode } from "../../model/findings.ts";
import type { Images } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine, Verdict } from "../../model/plan.ts";
import { ipmitoolOf, type MachineOf } from "../../model/power.ts";
import { openPlan } from "../../run/run.ts";
import { AFTER } from "../../window/runner/after.ts";
import { widthOf } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { exampleOf } from "../views/several.ts";
import { each, machinesView } from "../views/show.ts";
import { exitWith, type ListArgs, printLines, printMachines, sinkOf } from "./shared.ts";
import { printDiff } from "./show.ts";

interface NovaArgs
  extends ConnectionOptions,
    Pick<TargetOptions, "deployKernel" | "deployRamdisk"> {
  readonly computeHost?: readonly string[];
  readonly flavorImages?: string;
  readonly flavor?: readonly string[];
}

/** The requested changes of Nova's rows; null without a Nova database. */
export function novaRequest(args: NovaArgs): NovaRequest | null {
  const { novaDb, computeHost, flavor } = args;
  if (novaDb === undefined) return null;
  const { deployKernel: kernel, deployRamdisk: ramdisk } = args;
  const images: Images =
    kernel === undefined || ramdisk === undefined
      ? { do: args.flavorImages === "delete" ? "delete" : "keep" }
      : { do: "point", kernel, ramdisk };
  const computeHosts = computeHost ?? [];
  return { computeHosts, flavors: { images, selected: new Set(flavor ?? []) } };
}

interface PlanArgs extends ListArgs, NovaArgs, PlanCommandOptions {
  readonly diff?: string;
  readonly allRows: boolean;
  readonly match?: readonly string[];
  readonly conductorIpmitool?: string;
  readonly detailedExitcode: boolean;
}

export const commands = {
  async plan(args: PlanArgs) {
    const sink = sinkOf(args);
    const request = { nova: novaRequest(args), ipmitool: ipmitoolOf(args.conductorIpmitool) };
    const lines = createLines(args.allRows);
    const made = await plan(args, request, sink, lines.add);
    const { nova, counts, foreignNodes, path } = made;
    const { match } = args;
    if (match !== undefined)
      await printMachines(machinesView(each((await openPlan(path)).lines())), {
        format: "table",
        run: args.run,
        match,
      });
    printLines(
      [
        renderHeader(made.header, made.conductors),
        ...(match === undefined ? lines.text(counts, made.late, widthOf({ format: "table" })) : []),
        ...(lines.short() && match === undefined ? [`All: ${EVERY.plan(args)}`] : []),
        renderCounts(counts),
        ...(nova === null ? [] : [renderNovaCounts(nova)]),
      ].join("\n"),
    );
    if (args.diff !== undefined) {
      const { header, lines } = await openPlan(path);
      await printDiff({ origins: header.origins, lines }, args.diff, args.allRows);
    }
    if (made.proposal !== null) sink.report(writeProposal(args, made.proposal));
    if (foreignNodes !== null)
      sink.report(
        `${foreignNodes}: apply will refuse to run. To allow them, use plan --allow-other-nodes.`,
      );
    if (nova === null)
      sink.report(
        "No Nova database was specified, so apply will refuse to run (N2I-E311) unless you pass --leave-nova. With plan --nova-db, apply watches the heartbeats of nova-compute.",
      );
    sink.report(
      `Saved ${path} (sha256 ${made.sha256.slice(0, 12)}). Valid as long as source and target remain unchanged.\n${AFTER.plan(args, counts, made.header.made_from.power !== null && !requiresPower(counts))}`,
    );
    // CI detects by this status that nothing would be loaded.
    if (loadable(counts) === 0 && isBlockedPlan(counts)) return exitWith("empty");
    const { hosts = 0, flavors = 0, api = 0 } = nova ?? {};
    const rows = counts.nodes + counts.ports + hosts + flavors + api;
    if (args.detailedExitcode && rows > 0) exitWith("differs");
  },
};

const ORDER = ["blocked", "conflict", "drift", "create", "unchanged", "skipped"] as const;

/** Lines of findings and their examples that fit on a page with the other lines. */
const PAGE = 36;

/** Findings without a machine that are shown individually. */
const LATE = 5;

type Counts = PlanCounts["findings"];

/**
 * Lists a few machines, problems first. For many, the verdicts are counted, and each blocking
 * finding has three example machines.
 *
 * @param all every machine, regardless of the count
 */
function createLines(all: boolean) {
  const lines: { readonly verdict: Verdict; readonly text: string }[] = [];
  const accepted: Record<string, number> = {};
  const skipped: Record<string, number> = {};
  const examples = new Map<string, (readonly string[])[]>();
  let machines = 0;
  const isComplete = (): boolean => all || machines <= SCREENFUL;
  return {
    add(machine: PlannedMachine, machineOf: MachineOf): void {
      machines += 1;
      const { verdict } = machine;
      if (isComplete()) lines.push({ verdict, text: renderLine(machine) });
      for (const { code, severity, accepted: reason } of machine.findings) {
        // A finding cannot block a machine that is skipped.
        const resolved = verdict === "skipped" ? skipped : reason === undefined ? null : accepted;
        if (resolved !== null) resolved[code] = (resolved[code] ?? 0) + 1;
        if (resolved !== null || severity !== "blocks") continue;
        const some = examples.get(code) ?? [];
        if (some.length < EXAMPLES) examples.set(code, [...some, exampleOf(machineOf)]);
      }
    },
    short: () => !isComplete(),
    /** @param width columns of the screen */
    text(
      { verdicts, findings }: Pick<PlanCounts, "verdicts" | "findings">,
      late: readonly Finding[],
      width: number | undefined,
    ): readonly string[] {
      const every = isComplete();
      const ordered = ORDER.flatMap((group) => lines.filter(({ verdict }) => verdict === group));
      return [
        ...(every ? [...ordered.map(({ text }) => text), ""] : []),
        ...verdictLines(verdicts, every),
        ...findingLines({ findings, accepted, skipped }, every ? new Map() : examples, width),
        ...lateLines(late),
      ];
    },
  };
}

/** @param bare without the counts, because every machine is listed */
function verdictLines(verdicts: PlanCounts["verdicts"], bare: boolean): readonly string[] {
  const present = ORDER.filter((verdict) => verdicts[verdict] > 0);
  const lines = present.map((verdict) => {
    const count = bare ? "" : `${String(verdicts[verdict]).padStart(6)} `;
    return `  ${SIGNS[verdict][0]} ${count}${verdict}: ${SIGNS[verdict][1]}`;
  });
  return [...lines, ""];
}

function lateLines(late: readonly Finding[]): readonly string[] {
  const more = late.length - LATE;
  if (late.length === 0) return [];
  const worst = late.toSorted((one, other) => rank(one.code) - rank(other.code));
  const rest = more > 0 ? [`  and ${more} more, counted above`] : [];
  return ["Not specific to a machine:", ...worst.slice(0, LATE).map(renderFinding), ...rest];
}

/** Open findings, the blocking ones with example machines, then the others. */
function findingLines(
  { findings, accepted, skipped }: { readonly [of in "findings" | "accepted" | "skipped"]: Counts },
  examples: ReadonlyMap<string, readonly (readonly string[])[]>,
  width: number | undefined,
): readonly string[] {
  const open = Object.entries(findings)
    .map(([code, all]) => [code, all - (accepted[code] ?? 0) - (skipped[code] ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .sort(([one, left], [other, right]) => rank(one) - rank(other) || right - left);
  const resolved = [
    ["Accepted in the site document:", accepted],
    ["Of skipped machines:", skipped],
  ] as const;
  const taken = open.length + Object.keys(accepted).length + Object.keys(skipped).length;
  const each = Math.min(EXAMPLES, Math.floor((PAGE - taken) / Math.max(1, examples.size)));
  const draw = drawer([...examples.values()].flat(), width);
  const lines = open.flatMap(([code, count]) => [
    ...renderFindingCounts({ [code]: count }),
    ...(examples.get(code) ?? []).slice(0, Math.max(0, each)).map(draw),
  ]);
  const others = resolved.flatMap(([title, counts]) =>
    Object.keys(counts).length === 0 ? [] : [title, ...renderFindingCounts(counts)],
  );
  return [...lines, ...others];
}

function rank(code: string): number {
  return ["blocks", "warning", "note"].indexOf(FINDINGS[code as FindingCode].severity); // the keys of the counts are codes
}
