import { isObject } from "../../lib/json.ts";

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
