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

/** One of the texts of a condition, and whether a machine had it. */
interface Wanted {
  readonly text: string;
  isUsed: boolean;
}

/**
 * What an entry wants of one column. Of a list one text has to fit; those without a star are looked up, as
 * there may be one for each machine.
 */
function condition(column: string, texts: string | readonly string[]) {
  const wanted = [texts].flat().map((text): Wanted => ({ text, isUsed: false }));
  const whole = new Map(
    wanted.filter(({ text }) => !text.includes("*")).map((one) => [one.text.toLowerCase(), one]),
  );
  const patterns = wanted
    .filter(({ text }) => text.includes("*"))
    .map((one) => ({ one, matches: pattern(one.text) }));
  const find = (value: string): Wanted | undefined =>
    whole.get(value.toLowerCase()) ?? patterns.find(({ matches }) => matches(value))?.one;
  return {
    matches({ node }: Machine): boolean {
      const value = columnsOf(node)[column];
      if (typeof value !== "string" && typeof value !== "number") return false;
      const found = find(String(value));
      if (found !== undefined) found.isUsed = true;
      return found !== undefined;
    },
    /** Of a list, texts that no machine had. */
    missed: (): readonly object[] =>
      typeof texts === "string"
        ? []
        : wanted.filter(({ isUsed }) => !isUsed).map(({ text }) => ({ [column]: text })),
  };
}

function matcher(entry: SiteEntry) {
  const conditions = Object.entries(entry.match).map(([column, texts]) => condition(column, texts));
  return {
    matches: (machine: Machine): boolean => conditions.every(({ matches }) => matches(machine)),
    missed: () => conditions.flatMap(({ missed }) => missed()),
  };
}

/** Decisions that are remembered, by the entries they are of: machines that match the same share one. */
const DECISIONS = 1000;

/** Reads the site document once; asks it for each machine. */
export function compileSite(site: Site) {
  const entries = site.machines.map((entry, at) => ({ entry, at, ...matcher(entry) }));
  const matched = new Set<SiteEntry>();
  const known = new Map<string, Decided>();
  const of = (machine: Machine): Decided => {
    const own = entries.filter(({ matches }) => matches(machine));
    const key = own.map(({ at }) => at).join();
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= DECISIONS) known.clear();
    const decided = own.reduce<Decided>((earlier, { entry }) => {
      matched.add(entry);
      return {
        set: { ...earlier.set, ...entry.set },
        skip: entry.skip ?? earlier.skip,
        accept: [...(entry.accept ?? []), ...earlier.accept],
      };
    }, NOTHING);
    known.set(key, decided);
    return decided;
  };
  /** Entries that matched none of the machines asked about so far, and texts of lists; an empty match never misses. */
  const unmatched = (): readonly Finding[] =>
    entries.flatMap(({ entry, missed }, at) => {
      const whole = !matched.has(entry) && Object.keys(entry.match).length > 0;
      const none: readonly object[] = whole ? [entry.match] : missed();
      return none.flatMap((match) =>
        findingIf(
          true,
          "N2I-D310",
          `${site.file ?? "the site document"} /machines/${at}/match`,
          `no machine has ${JSON.stringify(match)}`,
        ),
      );
    });
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
