import { basename } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMES } from "../lib/text.ts";
import { NO_SITE } from "../migrate/mapping/cross-check.ts";
import { loadMappings } from "../migrate/open/documents.ts";
import { compileSite } from "../migrate/transform/site.ts";
import { blocks } from "../model/findings.ts";
import { plansIn } from "../model/journal.ts";
import type { Machine } from "../model/machine.ts";
import type { Site } from "../model/mapping.ts";
import { MOVES, type MoveMode } from "../model/nova/host-move.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { createPlan, removePlans } from "../run/files/plan-folder.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { VERSION } from "../run/version.ts";
import { downTime } from "./host-watch.ts";
import { openTarget } from "./open-target.ts";
import type { MoveFacts, MoveRequest } from "./rules/move-hosts.ts";
import type { HostOptions, MoveTarget } from "./target.ts";

export function planMoves(
  options: HostOptions & { readonly run: string },
  sink: Sink,
): Promise<MovePlan> {
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
  options: HostOptions,
  { during }: Pick<Sink, "during">,
): Promise<MovePlan> {
  const looked_at = new Date().toISOString();
  const facts = await target.readFacts();
  const { site, sha256: siteDigest } = await siteOf(options.site);
  const request = await moveRequestOf(run, mode, options, facts, site);
  const planner = await target.planner(facts, request);
  const sources = new Set<string>(options.from === undefined ? [] : [options.from]);
  const counts = {
    ...{ machines: 0, verdicts: { move: 0, there: 0, blocked: 0 }, computes: 0, instances: 0 },
    findings: {} as Record<string, number>,
  };
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
            counts.machines += 1;
            counts.verdicts[line.verdict] += 1;
            for (const { table } of line.steps)
              counts[table === "instances" ? "instances" : "computes"] += 1;
            for (const { code } of line.findings)
              counts.findings[code] = (counts.findings[code] ?? 0) + 1;
            const wait = writer.write(line);
            if (wait !== undefined) await wait;
          }
          progress(counts.machines);
        }
      },
      () => counted(counts.machines, "machine"),
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
      ...{ counts, nova: null },
    };
    await plan.finish(manifest, () => Promise.resolve());
    await removePlans(run, plansIn((await readJournal(run)).entries));
    return await presentMoves(run);
  } catch (cause) {
    await plan.abandon();
    throw cause;
  }
}

/** @throws MigrationError N2I-E317 with the reasons, N2I-E306 for a plan without machines */
export async function checkMovable({ manifest, lines }: MovePlan): Promise<void> {
  const { counts, from, nova_bm } = manifest;
  const { machines, verdicts } = counts;
  const hosts = from.map(({ host }) => host).join(", ");
  const whose = nova_bm === undefined ? "Ironic" : "nova-baremetal";
  if (machines === 0)
    throw new MigrationError("N2I-E306", `${hosts} has no machine of ${whose}`, {
      fix: "Compare its name with: nova2ironic host list",
    });
  if (verdicts.blocked < machines) return;
  const texts = new Set<string>();
  for await (const batch of lines())
    for (const found of batch.flatMap(({ findings }) => findings))
      if (blocks(found)) texts.add(`${found.message} (${found.code} ${found.place})`);
  throw new MigrationError("N2I-E317", listed([...texts], NAMES, "; "));
}

export function hostsIn({ to = [] }: HostOptions): readonly string[] {
  return [...new Set(to.flatMap((list) => list.split(",")))].filter(Boolean);
}

/** @throws MigrationError N2I-E100 */
async function moveRequestOf(
  run: RunFolder,
  mode: MoveMode,
  options: HostOptions,
  { hosts, types }: MoveFacts,
  site: Site,
): Promise<MoveRequest> {
  const to = hostsIn(options);
  const { from, forceAggregates = false } = options;
  const existing = [...hosts, ...Array.from(types.keys(), (host) => ({ host }))];
  for (const name of [...to, from ?? []].flat()) checkSpelling(name, existing);
  const sites = compileSite(site);
  return {
    ...{ mode, to, down: await downTime(options), forceAggregates },
    reason: `nova2ironic ${basename(run.path)}`,
    // Nova knows only these two columns.
    acceptances: (uuid, service_host) =>
      sites.of({ node: { uuid, service_host } } as Machine).accept,
  };
}

/** @throws MigrationError N2I-E100 for a name that differs only in case from a known one */
export function checkSpelling(name: string, existing: readonly { readonly host: string }[]): void {
  const alike = existing.filter(({ host }) => host.toLowerCase() === name.toLowerCase());
  if (alike.length > 0 && !alike.some(({ host }) => host === name))
    throw new MigrationError("N2I-E100", `Nova spells ${name} as ${alike[0]?.host}`);
}

export async function siteOf(path: string | undefined) {
  return path === undefined ? { site: NO_SITE, sha256: null } : (await loadMappings()).site(path);
}
