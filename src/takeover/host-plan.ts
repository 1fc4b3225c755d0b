import { basename } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMED } from "../lib/text.ts";
import { NO_SITE } from "../migrate/mapping/site.ts";
import { loadMappings } from "../migrate/open/documents.ts";
import { compileSite } from "../migrate/transform/site.ts";
import type { Acceptance } from "../model/finding.ts";
import { plansNamed } from "../model/journal.ts";
import type { Machine } from "../model/machine.ts";
import type { Site } from "../model/mapping.ts";
import {
  MOVES,
  type MoveCounts,
  type MoveManifest,
  type MoveMode,
  type PlannedMove,
} from "../model/nova/host-move.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { createPlan, PLAN, removePlans } from "../run/files/plan-folder.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { VERSION } from "../run/version.ts";
import { type DownWords, downTime } from "./host-down.ts";
import { type HostPlace, type HostPlaces, openHostPlace } from "./host-world.ts";
import type { MoveWorld } from "./rules/move-hosts.ts";
import { createMoves } from "./rules/moves.ts";

export interface HostPlanWords extends HostPlaces, DownWords {
  readonly run: string;
  readonly node?: readonly string[];
  readonly from?: string;
  readonly to?: readonly string[];
  readonly site?: string;
  readonly forceAggregates?: boolean;
}

/** What was planned. */
export interface PlannedMoves {
  readonly manifest: Omit<MoveManifest, "format" | "files">;
  readonly sha256: string;
  /** Of its folder. */
  readonly path: string;
}

/** Makes a run's plan to move machines. */
export function planMoves(words: HostPlanWords, sink: Sink): Promise<PlannedMoves> {
  return inRun(
    words.run,
    "host plan",
    { kind: "takeover", variant: "ironic", create: true },
    (run) =>
      closing(async (keep) => {
        const place = await openHostPlace(words, keep, { readOnly: true }, sink.say);
        const planned = await makeMoves(run, place, "move", words, sink);
        await saveOptions(run, "host", words);
        return planned;
      }),
  );
}

/**
 * The same in a run that is held, with what is open already.
 *
 * @throws MigrationError N2I-E315 in a run of another kind, N2I-E306 for a machine that Nova has not
 */
export async function makeMoves(
  run: RunFolder,
  place: HostPlace,
  mode: MoveMode,
  words: HostPlanWords,
  sink: Sink,
): Promise<PlannedMoves> {
  const looked_at = new Date().toISOString();
  const world = await place.world();
  const asked = await askedOf(run, mode, words, world);
  const { site, sha256: siteDigest } = await siteOf(words.site);
  const moves = createMoves(world, asked, acceptedBy(site));
  const machines = await place.machines();
  const left = new Set<string>(words.from === undefined ? [] : [words.from]);
  const lines = async function* (): AsyncGenerator<readonly PlannedMove[]> {
    for await (const { nodes, from } of chosen(machines, words)) {
      const tenants = await place.tenants?.(nodes);
      yield (await machines.of(nodes)).map((machine) => {
        const owner = from ?? ownerOf(machine);
        const line = moves.machine(machine, owner, tenants?.get(machine.node));
        // Of a host that nothing leaves nothing is asked, and its queue is its own.
        if (line.verdict === "move") left.add(owner);
        return line;
      });
    }
  };
  return writePlan(run, asked, lines(), sink, () => {
    const { left: from, findings, fence } = moves.hosts([...left].toSorted());
    const read = { looked_at, site: siteDigest, force_aggregates: asked.forceAggregates };
    return { ...read, target: place.identity, ...{ from, findings, fence } };
  });
}

type Manifest = PlannedMoves["manifest"];
type Leaving = Omit<
  Manifest,
  "kind" | "tool" | "mode" | "made_at" | "to" | "service_down_time" | "counts" | "nova"
>;

/** Writes a plan, and removes those before it that no journal names. */
export async function writePlan(
  run: RunFolder,
  { mode, to, down }: Awaited<ReturnType<typeof askedOf>>,
  lines: AsyncIterable<readonly PlannedMove[]>,
  { during }: Pick<Sink, "during">,
  leaving: () => Leaving | Promise<Leaving>,
): Promise<PlannedMoves> {
  const tally = createTally();
  const plan = await createPlan(run);
  try {
    const writer = await plan.begin(MOVES, { format: "nova2ironic/moves@1" });
    await during(
      "host plan",
      undefined,
      async (progress) => {
        for await (const page of lines) {
          for (const line of page) {
            tally.add(line);
            const wait = writer.write(line);
            if (wait !== undefined) await wait;
          }
          progress(tally.counts().machines);
        }
      },
      () => `${counted(tally.counts().machines, "machine")}`,
    );
    const manifest = {
      ...({ kind: "hosts", tool: VERSION, mode } as const),
      made_at: new Date().toISOString().slice(0, 19).replace("T", " "),
      ...(await leaving()),
      ...{ to, service_down_time: down, counts: tally.counts(), nova: null },
    };
    const sha256 = await plan.finish(manifest, () => Promise.resolve());
    await removePlans(run, plansNamed((await readJournal(run)).entries));
    return { manifest, sha256, path: `${run.path}/${PLAN}` };
  } catch (cause) {
    await plan.abandon();
    throw cause;
  }
}

/** The hosts that take machines, each once. */
export function hostsIn({ to = [] }: Pick<HostPlanWords, "to">): readonly string[] {
  return [...new Set(to.flatMap((word) => word.split(",")))].filter(Boolean);
}

/**
 * @param world Nova's hosts, which MySQL compares without case and everything else with it
 * @throws MigrationError N2I-E100
 */
export async function askedOf(
  run: RunFolder,
  mode: MoveMode,
  words: HostPlanWords,
  { hosts, types }: MoveWorld,
) {
  const to = hostsIn(words);
  const { from, forceAggregates = false } = words;
  const known = [...hosts, ...Array.from(types.keys(), (host) => ({ host }))];
  for (const name of [...to, from ?? []].flat()) checkSpelling(name, known);
  const down = await downTime(words);
  return { mode, to, down, forceAggregates, reason: `nova2ironic ${basename(run.path)}` };
}

/** @throws MigrationError N2I-E100 for a name that differs from a known one in case alone */
export function checkSpelling(name: string, known: readonly { readonly host: string }[]): void {
  const alike = known.filter(({ host }) => host.toLowerCase() === name.toLowerCase());
  if (alike.length > 0 && !alike.some(({ host }) => host === name))
    throw new MigrationError("N2I-E100", `Nova spells ${name} as ${alike[0]?.host}`);
}

/** The site document, and its digest. */
export async function siteOf(path: string | undefined) {
  return path === undefined
    ? { site: NO_SITE, sha256: null }
    : await (await loadMappings()).site(path);
}

export async function acceptancesOf(path: string | undefined) {
  return acceptedBy((await siteOf(path)).site);
}

/** The same of one that was read, matched by their uuid and service_host. */
function acceptedBy(site: Site): (machine: string, from: string) => readonly Acceptance[] {
  const entries = compileSite(site);
  return (uuid, service_host) =>
    // Of all its columns Nova knows these.
    entries.of({ node: { uuid, service_host } } as Machine).accept;
}

type Machines = Awaited<ReturnType<HostPlace["machines"]>>;

/** Nodes in pages, with the host that owns them where that was said. */
async function* chosen(
  machines: Machines,
  { from, node = [] }: HostPlanWords,
): AsyncGenerator<{ readonly nodes: readonly string[]; readonly from: string | null }> {
  if (from !== undefined) {
    for await (const nodes of machines.owned(from)) yield { nodes, from };
    return;
  }
  const nodes = [...new Set(node.map((uuid) => uuid.toLowerCase()))];
  const unknown = (await machines.of(nodes)).filter(
    ({ computes, instances }) => computes.length + instances.length === 0,
  );
  if (unknown.length > 0)
    throw new MigrationError(
      "N2I-E306",
      `Nova has no live compute node of ${listed(
        unknown.map((one) => one.node),
        NAMED,
      )}`,
      { fix: "List the machines with: nova2ironic host list" },
    );
  yield { nodes, from: null };
}

/** The host whose nova-compute manages a machine: that of its instance, which its node follows. */
function ownerOf({ computes, instances }: Awaited<ReturnType<Machines["of"]>>[number]): string {
  return instances[0]?.host ?? computes[0]?.owner ?? "";
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
