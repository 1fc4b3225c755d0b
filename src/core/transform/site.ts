import { type Acceptance, type Finding, findingIf } from "../../model/finding.ts";
import type { JsonObject } from "../../model/json.ts";
import { columnsOf, type Machine } from "../../model/machine.ts";
import type { Site, SiteEntry } from "../../model/mapping.ts";

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
  const [first = "", ...rest] = text.toLowerCase().split("*");
  const last = rest.pop();
  // Not an expression: many stars would make one try every way to share a long text among them.
  return (value) => {
    const lower = value.toLowerCase();
    if (last === undefined) return lower === first;
    if (!lower.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = lower.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return lower.length - last.length >= at && lower.endsWith(last);
  };
}

function matcher(entry: SiteEntry): Matcher {
  const conditions = Object.entries(entry.match).map(
    ([column, text]) => [column, pattern(text)] as const,
  );
  return ({ node }) =>
    conditions.every(([column, matches]) => {
      const value = columnsOf(node)[column];
      return (typeof value === "string" || typeof value === "number") && matches(String(value));
    });
}

/** Reads the site document once; asks it for each machine. */
export function compileSite(site: Site) {
  const entries = site.machines.map((entry) => ({ entry, matches: matcher(entry) }));
  const matched = new Set<SiteEntry>();
  const of = (machine: Machine): Decided =>
    entries
      .filter(({ matches }) => matches(machine))
      .reduce<Decided>((decided, { entry }) => {
        matched.add(entry);
        return {
          set: { ...decided.set, ...entry.set },
          skip: entry.skip ?? decided.skip,
          accept: [...(entry.accept ?? []), ...decided.accept],
        };
      }, NOTHING);
  /** Entries that matched none of the machines asked about so far; an empty match never misses. */
  const unmatched = (): readonly Finding[] =>
    site.machines.flatMap((entry, at) =>
      findingIf(
        !matched.has(entry) && Object.keys(entry.match).length > 0,
        "N2I-D310",
        `${site.file ?? "the site document"} /machines/${at}/match`,
        `no machine has ${JSON.stringify(entry.match)}`,
      ),
    );
  return { of: entries.length === 0 ? () => NOTHING : of, unmatched };
}

/** The machine with its credentials in the charset the operator names, and nothing to say of them then. */
export function asRead(machine: Machine, set: JsonObject): Machine {
  const { decoded, node, findings } = machine;
  if (set.credentials_charset !== "utf8" || decoded === undefined) return machine;
  return {
    ...machine,
    node: { ...node, ...decoded },
    findings: findings.filter(({ code }) => code !== "N2I-D125"),
  };
}
