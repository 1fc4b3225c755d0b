import { MigrationError } from "../../lib/error.ts";
import { listed, NAMED } from "../../lib/text.ts";
import type { MoveMode, PlannedMove } from "../../model/nova/host-move.ts";
import type { LegacyNode } from "../../model/nova/legacy-move.ts";
import { closing } from "../../run/databases.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { legacyTenants, legacyTies } from "../../systems/nova-db/legacy.ts";
import {
  acceptancesOf,
  askedOf,
  type HostPlanWords,
  type PlannedMoves,
  writePlan,
} from "../host-plan.ts";
import { readLeases } from "../leases/leases.ts";
import { nodesNamed, nodesOf } from "../leases/nodes.ts";
import { createLegacyMoves, type LegacyFound } from "../rules/legacy.ts";
import { type LegacyPlace, type LegacyPlaces, openLegacyPlace } from "./legacy-place.ts";

export interface LegacyWords extends HostPlanWords, LegacyPlaces {}

interface LegacyMode {
  readonly mode: MoveMode;
  /** Whether a takeover fences the services of the hosts, too. */
  readonly fences: boolean;
}

/** Makes a run's plan to move machines of nova-baremetal. */
export function planLegacy(words: LegacyWords, sink: Sink): Promise<PlannedMoves> {
  return inRun(
    words.run,
    "host plan",
    { kind: "takeover", variant: "baremetal", create: true },
    (run) =>
      closing(async (keep) => {
        const place = await openLegacyPlace(words, keep, { readOnly: true }, sink.say);
        const planned = await makeLegacy(run, place, { mode: "move", fences: false }, words, sink);
        await saveOptions(run, "host", words);
        return planned;
      }),
  );
}

/**
 * The same in a run that is held, with what is open already.
 * @throws MigrationError N2I-E315 in a run of another kind, N2I-E306 for a machine that nova_bm has not
 */
export async function makeLegacy(
  run: RunFolder,
  place: LegacyPlace,
  { mode, fences }: LegacyMode,
  words: LegacyWords,
  sink: Pick<Sink, "during">,
): Promise<PlannedMoves> {
  const looked_at = new Date().toISOString();
  const nova = await place.world();
  const asked = await askedOf(run, mode, words, nova);
  const networks = await place.networks(nova.hosts.map(({ host }) => host));
  const world = { ...nova, networks, leases: await readLeases(place.leases) };
  const moves = createLegacyMoves(world, asked, await acceptancesOf(words.site));
  const found = await opened(place);
  const left = new Set<string>(words.from === undefined ? [] : [words.from]);
  const lines = async function* (): AsyncGenerator<readonly PlannedMove[]> {
    for await (const nodes of chosen(place, words)) {
      const page = (await found(nodes)).map((machine) => moves.machine(machine));
      for (const { verdict, from, to } of page)
        if (verdict === "move" && from !== to) left.add(from);
      yield page;
    }
  };
  return writePlan(run, asked, lines(), sink, async () => {
    const leaving = moves.hosts([...left].toSorted());
    return {
      looked_at,
      ...{ target: place.identity, nova_bm: place.source, from: leaving.left },
      findings: [...leaving.findings, ...(await place.boots.shared())],
      fence: fences ? leaving.fence : [],
    };
  });
}

/** Machines by their words, in pages. @throws MigrationError N2I-E306 */
async function* chosen(
  { leases }: LegacyPlace,
  { from, node = [] }: LegacyWords,
): AsyncGenerator<readonly LegacyNode[]> {
  if (from !== undefined) {
    yield* nodesOf(leases, from);
    return;
  }
  const nodes = await nodesNamed(leases, node);
  const known = new Set(nodes.map(({ uuid }) => uuid.toLowerCase()));
  const unknown = node.filter((uuid) => !known.has(uuid.toLowerCase()));
  if (unknown.length > 0)
    throw new MigrationError("N2I-E306", `nova_bm has no live machine ${listed(unknown, NAMED)}`, {
      fix: "List the machines with: nova2ironic host list",
    });
  yield nodes;
}

/** Reads what there is to know of machines. */
async function opened(
  place: LegacyPlace,
): Promise<(nodes: readonly LegacyNode[]) => Promise<readonly LegacyFound[]>> {
  const machines = await place.machines();
  const { database } = place;
  return async (nodes) => {
    const uuids = nodes.flatMap(({ instance_uuid }) => instance_uuid ?? []);
    const tenants = await legacyTenants(database, uuids);
    const boots = await place.boots.findings(
      nodes.flatMap(({ id, uuid, instance_uuid: instance, service_host }) => {
        if (instance === null) return [];
        const from = service_host ?? "";
        const host = tenants.get(instance.toLowerCase())?.host ?? from;
        return [{ id, uuid, instance, hosts: [from, host] }];
      }),
    );
    const ties = await legacyTies(database, uuids);
    const owned = await machines.of(nodes.map(({ uuid }) => uuid));
    return nodes.flatMap((node, at) => {
      const own = owned[at];
      if (own === undefined) return [];
      const key = node.instance_uuid?.toLowerCase() ?? "";
      return [
        {
          ...{ node, tenant: tenants.get(key) ?? null, owned: own },
          volumes: ties.volumes.get(key) ?? [],
          architecture: ties.architectures.get(key) ?? null,
          boot: boots.get(node.id) ?? [],
        },
      ];
    });
  };
}
