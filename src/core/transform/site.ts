import type { JsonObject } from "../../model/json.ts";
import type { Machine } from "../../model/machine.ts";
import type { Acceptance, Site, SiteEntry } from "../../model/mapping.ts";

/** What the operator decided for one machine: the entries that match it, later ones over earlier. */
export interface Decided {
  readonly set: JsonObject;
  readonly skip: string | null;
  readonly accept: readonly Acceptance[];
}

const NOTHING: Decided = { set: {}, skip: null, accept: [] };

type Matcher = (machine: Machine) => boolean;

/** `*` stands for any text; everything else for itself. Upper and lower case are the same. */
function pattern(text: string): (value: string) => boolean {
  const parts = text.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const expression = new RegExp(`^${parts.join(".*")}$`, "is");
  return (value) => expression.test(value);
}

function matcher(entry: SiteEntry): Matcher {
  const conditions = Object.entries(entry.match).map(
    ([column, text]) => [column, pattern(text)] as const,
  );
  return ({ node }) =>
    conditions.every(([column, matches]) => {
      const value = node[column];
      return (typeof value === "string" || typeof value === "number") && matches(String(value));
    });
}

/** Reads the site document once; asks it for each machine. */
export function compileSite(site: Site): (machine: Machine) => Decided {
  const entries = site.machines.map((entry) => ({ entry, matches: matcher(entry) }));
  if (entries.length === 0) return () => NOTHING;
  return (machine) =>
    entries
      .filter(({ matches }) => matches(machine))
      .reduce<Decided>(
        (decided, { entry }) => ({
          set: { ...decided.set, ...entry.set },
          skip: entry.skip ?? decided.skip,
          accept: [...(entry.accept ?? []), ...decided.accept],
        }),
        NOTHING,
      );
}
