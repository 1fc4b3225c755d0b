import { isObject, type Json, type JsonObject } from "../../model/json.ts";

/** A target document as written: the whole release, or what it changes of another. */
interface Written extends JsonObject {
  readonly release: string;
  readonly extends?: string;
}

/** A named document; what it says is checked by the caller. */
export interface NamedDocument<T = unknown> {
  readonly name: string;
  readonly document: T;
}

/** Objects are merged member by member; lists and plain values are replaced whole, null as well. */
function merge(base: Json | undefined, change: Json): Json {
  if (!isObject(base) || !isObject(change)) return change;
  const merged = Object.entries(change).map(([key, value]) => [key, merge(base[key], value)]);
  return { ...base, ...Object.fromEntries(merged) };
}

/** The documents a release rests on, itself last; a fault when there is no end or no such release. */
function chainOf(
  { document: from }: NamedDocument<Written>,
  byRelease: ReadonlyMap<string, NamedDocument<Written>>,
): readonly Written[] | string {
  const chain: Written[] = [from];
  for (let at = from; at.extends !== undefined; ) {
    const base = byRelease.get(at.extends)?.document;
    if (base === undefined) return `/extends ${at.extends} is no release of mappings/targets`;
    if (chain.includes(base)) return `/extends ${at.extends} goes round in a circle`;
    chain.unshift(base);
    at = base;
  }
  return chain;
}

/**
 * Every release's whole document, oldest first: a document comes after the one it extends.
 *
 * @param documents each already as its schema says
 * @returns the documents, and what is wrong with each by its name
 */
export function extendTargets(documents: readonly NamedDocument<Written>[]): {
  readonly whole: readonly NamedDocument<JsonObject>[];
  readonly faults: readonly (readonly [name: string, fault: string])[];
} {
  // Of two documents of one release the first counts; the other is told.
  const byRelease = new Map(
    documents.toReversed().map((named) => [named.document.release, named] as const),
  );
  const faults: (readonly [string, string])[] = [];
  const whole: { readonly name: string; readonly document: JsonObject; readonly depth: number }[] =
    [];
  for (const named of documents) {
    const { name, document } = named;
    if (byRelease.get(document.release) !== named)
      faults.push([name, `/release ${document.release} has another document`]);
    const chain = chainOf(named, byRelease);
    if (typeof chain === "string") faults.push([name, chain]);
    else {
      const { extends: _, ...merged } = chain.reduce<JsonObject>(
        // Both are objects, and so is what becomes of them.
        (base, change) => merge(base, change) as JsonObject,
        {},
      );
      whole.push({ name, document: merged, depth: chain.length });
    }
  }
  return { whole: whole.sort((left, right) => left.depth - right.depth), faults };
}
