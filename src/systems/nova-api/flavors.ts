import { isObject } from "../../lib/json.ts";

interface ListedFlavor {
  readonly flavorid: string;
  readonly name: string | null;
}

/** All visible flavors, in pages. @param ask GET of a path of Nova */
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
    // A service without paging returns the same page again.
    if (fresh.length === 0) return [...found.values()];
    for (const one of fresh) found.set(one.flavorid, one);
    after = page.at(-1)?.flavorid ?? null;
  }
}
