import type { Database } from "../edge/database/open.ts";
import { readFlavorSizes } from "../edge/nova/flavors.ts";
import { novaVersion } from "../edge/nova/open.ts";
import { identifyNovaApi } from "../edge/nova-write/open.ts";
import { orNull } from "../model/error.ts";
import { isObject, type Json } from "../model/json.ts";
import type { Machine } from "../model/machine.ts";
import { hasApiFlavors } from "../model/nova-release.ts";
import { nodeOf } from "../model/plan.ts";
import type { FlavorSize, NodeSize } from "../model/settings.ts";
import { closing, openRole } from "./databases.ts";
import { openPlan, openSnapshot, PLAN, SNAPSHOT } from "./run.ts";

/** Databases that have flavors, as the options name them. */
export interface FlavorPlaces {
  readonly novaDb?: string;
  readonly novaApiDb?: string;
}

/** Sizes of flavors in use and of machines, from a run's folder. */
export interface Sizes {
  readonly flavors: readonly FlavorSize[];
  readonly nodes: readonly NodeSize[];
  /** What the machines' sizes were read from. */
  readonly from: string;
  /** Nova has its flavors in nova_api too, and these were not looked at. */
  readonly unseen: boolean;
}

/**
 * @param run the run's folder
 * @param places where every live flavor is that is for machines; without any, those of instances
 * @throws MigrationError N2I-E202, N2I-E203 for a nova or nova_api that is none
 */
export async function sizesOf(run: string, places: FlavorPlaces): Promise<Sizes> {
  const snapshot = await openSnapshot(`${run}/${SNAPSHOT}`);
  const flavors = new Map<string, FlavorSize>();
  const ids = new Set<number>();
  const there: NodeSize[] = [];
  for await (const batch of snapshot.lines())
    for (const line of batch) {
      if ("orphan" in line || line.node.deleted === true) continue;
      const { cpus, memory_mb, local_gb } = line.node;
      there.push({ cpus, memory_mb, local_gb });
      const size = flavorOf(line);
      if (size === null) continue;
      ids.add(size.id);
      flavors.set(JSON.stringify(size.flavor), size.flavor);
    }
  const planned = await planSizes(run, snapshot.footer.sha256);
  const { novaDb, novaApiDb } = places;
  const version = snapshot.header.source.nova?.schema_version ?? 0;
  const inUse = novaDb === undefined && novaApiDb === undefined;
  return {
    flavors: inUse
      ? [...flavors.values()]
      : await flavorsIn(places, (database, place) => readFlavorSizes(database, [...ids], place)),
    nodes: planned ?? there,
    from: planned === null ? "the snapshot" : "the plan",
    unseen: novaDb !== undefined && novaApiDb === undefined && hasApiFlavors(version),
  };
}

/**
 * The size an instance was made with, which is its flavor's: Nova lets no flavor change its size. None
 * of a deleted flavor, which is scheduled no more.
 */
function flavorOf({ nova }: Machine) {
  const instance = nova?.instance ?? null;
  if (instance === null || instance.deleted || instance.flavor === null) return null;
  if (instance.flavor.deleted) return null;
  const { flavor, vcpus, memory_mb, root_gb, ephemeral_gb } = instance;
  if (vcpus === null || memory_mb === null) return null;
  return {
    id: flavor.id,
    flavor: {
      name: `${flavor.name} (${flavor.flavorid})`,
      ...{ vcpus, memory_mb, root_gb: root_gb ?? 0, ephemeral_gb: ephemeral_gb ?? 0 },
      swap_mb: flavor.swap ?? 0,
    },
  };
}

/**
 * What is read of flavors in each database that is given, by their ids: those of nova_api stand before
 * nova's of the same id, as they do for Nova.
 *
 * @throws MigrationError N2I-E202, N2I-E203 for a nova or nova_api that is none
 */
export async function flavorsIn<T>(
  { novaDb, novaApiDb }: FlavorPlaces,
  read: (database: Database, place: "nova" | "nova_api") => Promise<ReadonlyMap<number, T>>,
): Promise<readonly T[]> {
  const found = new Map<number, T>();
  for (const [role, spec, place] of [
    ["nova-db", novaDb, "nova"],
    ["nova-api-db", novaApiDb, "nova_api"],
  ] as const) {
    if (spec === undefined) continue;
    await closing(async (keep) => {
      const database = keep(await openRole(role, spec, { readOnly: true }));
      await (place === "nova_api" ? identifyNovaApi : novaVersion)(database);
      for (const [id, flavor] of await read(database, place)) found.set(id, flavor);
    });
  }
  return [...found.values()];
}

/** Nodes as the plan has them; null when the run has no plan of this snapshot. */
async function planSizes(run: string, snapshot: string): Promise<readonly NodeSize[] | null> {
  const plan = await planOrNull(run);
  if (plan === null || plan.header.made_from.snapshot !== snapshot) return null;
  const nodes: NodeSize[] = [];
  for await (const batch of plan.lines())
    for (const { records } of batch) {
      const row = nodeOf(records);
      if (row === undefined) continue;
      const number = (key: string): number | null => numberOf(row.properties, key);
      nodes.push({
        ...{ cpus: number("cpus"), memory_mb: number("memory_mb"), local_gb: number("local_gb") },
      });
    }
  return nodes;
}

/** The run's plan; null when it has none. */
export function planOrNull(run: string) {
  return orNull(openPlan(`${run}/${PLAN}`), "N2I-E110");
}

function numberOf(properties: Json | undefined, key: string): number | null {
  const value = isObject(properties) ? properties[key] : undefined;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}
