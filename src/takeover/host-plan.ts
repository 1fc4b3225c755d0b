import { basename } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { counted } from "../lib/text.ts";
import { NO_SITE } from "../migrate/mapping/site.ts";
import { loadMappings } from "../migrate/open/documents.ts";
import { compileSite } from "../migrate/transform/site.ts";
import type { Acceptance } from "../model/findings.ts";
import { plansIn } from "../model/journal.ts";
import type { Machine } from "../model/machine.ts";
import type { Site } from "../model/mapping.ts";
import {
  MOVES,
  type MoveCounts,
  type MoveMode,
  type PlannedMove,
} from "../model/nova/host-move.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { createPlan, PLAN, removePlans } from "../run/files/plan-folder.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { VERSION } from "../run/version.ts";
import type { LegacyInputs } from "./baremetal/legacy-clients.ts";
import { type DownOptions, downTime } from "./host-watch.ts";
import { openTarget } from "./open-target.ts";
import type { MoveFacts, MoveRequest } from "./rules/move-hosts.ts";
import type { MoveScope, MoveTarget } from "./target.ts";

interface PlanOptions extends DownOptions, MoveScope {
  readonly to?: readonly string[];
  readonly site?: string;
  readonly forceAggregates?: boolean;
}

export interface HostPlanOptions extends LegacyInputs, PlanOptions {
  readonly run: string;
}

export interface PlannedMoves extends MovePlan {
  readonly path: string;
}

export function planMoves(options: HostPlanOptions, sink: Sink): Promise<PlannedMoves> {
  const variant = options.novaBmDb === undefined ? "ironic" : "baremetal";
  return inRun(options.run, "host plan", { kind: "takeover", variant, create: true }, (run) =>
    closing(async (keep) => {
      const target = await openTarget(variant, options, keep, { readOnly: true }, sink.report);
      const planned = await makeMoves(run, target, "move", options, sink);
      await saveOptions(run, "host", options);
      return planned;
    }),
  );
}

/** @throws MigrationError N2I-E315 in a run of another kind, N2I-E306 for an unknown machine */
export async function makeMoves(
  run: RunFolder,
  target: MoveTarget,
  mode: MoveMode,
  options: PlanOptions,
  { during }: Pick<Sink, "during">,
): Promise<PlannedMoves> {
  const looked_at = new Date().toISOString();
  const facts = await target.readFacts();
  const request = await moveRequestOf(run, mode, options, facts);
  const { site, sha256: siteDigest } = await siteOf(options.site);
  const planner = await target.planner(facts, request, acceptedBy(site));
  const sources = new Set<string>(options.from === undefined ? [] : [options.from]);
  const tally = createTally();
  const plan = await createPlan(run);
  try {
    const writer = await plan.begin(MOVES, { format: "nova2ironic/moves@1" });
    await during(
      "host plan",
      undefined,
      async (progress) => {
        for await (const page of planner.machines(options)) {
          for (const line of page) {
            // Only hosts that machines leave are read, and have their queues purged.
            if (line.verdict === "move" && line.from !== line.to) sources.add(line.from);
            tally.add(line);
            const wait = writer.write(line);
            if (wait !== undefined) await wait;
          }
          progress(tally.counts().machines);
        }
      },
      () => `${counted(tally.counts().machines, "machine")}`,
    );
    const { oldHosts: from, findings, fence } = await planner.hosts([...sources].toSorted());
    const { identity, source } = target;
    const decided = { site: siteDigest, force_aggregates: request.forceAggregates };
    const manifest = {
      ...({ kind: "hosts", tool: VERSION, mode } as const),
      made_at: new Date().toISOString().slice(0, 19).replace("T", " "),
      ...{ looked_at, ...(source === undefined ? decided : {}), target: identity },
      ...(source !== undefined && { nova_bm: source }),
      ...{ from, findings, fence, to: request.to, service_down_time: request.down },
      ...{ counts: tally.counts(), nova: null },
    };
    await plan.finish(manifest, () => Promise.resolve());
    await removePlans(run, plansIn((await readJournal(run)).entries));
    return { ...(await presentMoves(run)), path: `${run.path}/${PLAN}` };
  } catch (cause) {
    await plan.abandon();
    throw cause;
  }
}

export function hostsIn({ to = [] }: Pick<PlanOptions, "to">): readonly string[] {
  return [...new Set(to.flatMap((list) => list.split(",")))].filter(Boolean);
}

/** @throws MigrationError N2I-E100 */
async function moveRequestOf(
  run: RunFolder,
  mode: MoveMode,
  options: PlanOptions,
  { hosts, types }: MoveFacts,
): Promise<MoveRequest> {
  const to = hostsIn(options);
  const { from, forceAggregates = false } = options;
  const existing = [...hosts, ...Array.from(types.keys(), (host) => ({ host }))];
  for (const name of [...to, from ?? []].flat()) checkSpelling(name, existing);
  const down = await downTime(options);
  return { mode, to, down, forceAggregates, reason: `nova2ironic ${basename(run.path)}` };
}

/** @throws MigrationError N2I-E100 for a name that differs only in case from a known one */
export function checkSpelling(name: string, existing: readonly { readonly host: string }[]): void {
  const alike = existing.filter(({ host }) => host.toLowerCase() === name.toLowerCase());
  if (alike.length > 0 && !alike.some(({ host }) => host === name))
    throw new MigrationError("N2I-E100", `Nova spells ${name} as ${alike[0]?.host}`);
}

export async function siteOf(path: string | undefined) {
  return path === undefined
    ? { site: NO_SITE, sha256: null }
    : await (await loadMappings()).site(path);
}

function acceptedBy(site: Site): (machine: string, from: string) => readonly Acceptance[] {
  const entries = compileSite(site);
  return (uuid, service_host) =>
    // Nova knows only these two columns.
    entries.of({ node: { uuid, service_host } } as Machine).accept;
}

function createTally() {
  const verdicts = { move: 0, there: 0, blocked: 0 };
  const findings: Record<string, number> = {};
  let [computes, instances] = [0, 0];
  return {
    add({ verdict, steps, findings: found }: PlannedMove): void {
      verdicts[verdict] += 1;
      for (const { code } of found) findings[code] = (findings[code] ?? 0) + 1;
      for (const { table } of steps)
        if (table === "instances") instances += 1;
        else computes += 1;
    },
    counts: (): MoveCounts => ({
      machines: verdicts.move + verdicts.there + verdicts.blocked,
      ...{ verdicts: { ...verdicts }, computes, instances, findings },
    }),
  };
}
