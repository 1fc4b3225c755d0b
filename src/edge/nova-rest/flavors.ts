import { isObject } from "../../model/json.ts";
import type { FlavorRow, FlavorRows, SpecRow } from "../../model/nova-rows.ts";
import type { ComputeService } from "./service.ts";

/**
 * Every flavor Nova's API shows, private ones too, with its extra specs. It tells no numbers: those
 * of flavors that instances have are known by their flavorid, all others get one of their own below
 * zero.
 *
 * @param ids flavorid -> number, as instances name flavors
 * @param hosts of live instances by number
 * @throws MigrationError N2I-E210, N2I-E211, N2I-E212
 */
export async function readRestFlavors(
  service: ComputeService,
  ids: ReadonlyMap<string, number>,
  hosts: FlavorRows["hosts"],
): Promise<FlavorRows> {
  const flavors: FlavorRow[] = [];
  const specs: SpecRow[] = [];
  for (const { flavorid, name } of await listFlavors(service.ask)) {
    const id = ids.get(flavorid) ?? -1 - flavors.length;
    flavors.push({ id, name, flavorid, deleted: 0 });
    const own = (await service.specs(flavorid)) ?? new Map<string, string>();
    for (const [key, value] of own)
      specs.push({ id: 0, instance_type_id: id, key, value, deleted: 0, deleted_at: null });
  }
  return { place: "rest", flavors, specs, hosts };
}

/** A flavor, by what Nova tells without asking for it. */
interface ListedFlavor {
  readonly flavorid: string;
  readonly name: string | null;
}

/**
 * Every flavor that the login may see, page by page, each after the last flavor of the one before.
 *
 * @param ask for the answer to a path of Nova
 */
export async function listFlavors(
  ask: (path: string) => Promise<unknown>,
): Promise<readonly ListedFlavor[]> {
  const found = new Map<string, ListedFlavor>();
  for (let after: string | null = null; ; ) {
    const marker: string = after === null ? "" : `&marker=${encodeURIComponent(after)}`;
    const body = await ask(`/flavors/detail?is_public=None${marker}`);
    const page = (isObject(body) && Array.isArray(body.flavors) ? body.flavors : []).flatMap(
      (one: unknown): readonly ListedFlavor[] =>
        isObject(one) && typeof one.id === "string"
          ? [{ flavorid: one.id, name: typeof one.name === "string" ? one.name : null }]
          : [],
    );
    const fresh = page.filter(({ flavorid }) => !found.has(flavorid));
    // A service that gives the same page again has no other.
    if (fresh.length === 0) return [...found.values()];
    for (const one of fresh) found.set(one.flavorid, one);
    after = page.at(-1)?.flavorid ?? null;
  }
}
