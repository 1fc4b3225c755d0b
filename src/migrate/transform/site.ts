import { groupedBy } from "../../lib/grouped.ts";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import { type Acceptance, type Finding, finding } from "../../model/findings.ts";
import { columnsOf, type Machine } from "../../model/machine.ts";
import type { Site, SiteEntry } from "../../model/mapping.ts";

/** The merged site entries of one machine. Later entries take precedence. */
export interface Decided {
  readonly set: JsonObject;
  readonly skip: string | null;
  readonly accept: readonly Acceptance[];
}

const NOTHING: Decided = { set: {}, skip: null, accept: [] };

/** A matcher with `*` for any text. @param text and values in lower case */
function pattern(text: string): (lower: string) => boolean {
  const [first = "", ...rest] = text.split("*");
  const last = rest.pop() ?? "";
  // Not a regular expression, because many stars would cause excessive backtracking.
  return (lower) => {
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

/** A machine's value of a column in lower case, because case is ignored. */
function columnValue({ node }: Machine, column: string): string | null {
  const value = columnsOf(node)[column];
  return typeof value === "string" || typeof value === "number"
    ? String(value).toLowerCase()
    : null;
}

interface Condition {
  readonly column: string;
  /** Possible values in lower case. Null if there is a pattern. */
  readonly only: readonly string[] | null;
  readonly matches: (machine: Machine) => boolean;
  /** List texts that matched no machine. Null if the condition is not a list. */
  readonly missed: (() => readonly object[]) | null;
}

/** A text, or a list of which one text must match. Those without a star are looked up. */
function conditionOf([column, expected]: readonly [string, string | readonly string[]]): Condition {
  const texts = new Map([expected].flat().map((text) => [text.toLowerCase(), text]));
  const unused = new Set(texts.keys());
  const patterns = [...texts.keys()]
    .filter((text) => text.includes("*"))
    .map((text) => ({ text, isMatch: pattern(text) }));
  return {
    column,
    only: patterns.length === 0 ? [...texts.keys()] : null,
    matches(machine) {
      const value = columnValue(machine, column);
      if (value === null) return false;
      const found = patterns.filter(({ isMatch }) => isMatch(value));
      for (const { text } of found) unused.delete(text);
      if (texts.has(value)) unused.delete(value);
      return found.length > 0 || texts.has(value);
    },
    missed:
      typeof expected === "string"
        ? null
        : () => [...unused].map((text) => ({ [column]: texts.get(text) })),
  };
}

/**
 * Conditions by which an entry can be looked up, up to the first list. A list records matches only
 * for machines that match all conditions before it.
 */
function keysOf({
  conditions,
}: IndexedEntry): readonly { column: string; only: readonly string[] }[] {
  const list = conditions.findIndex(({ missed }) => missed !== null);
  return (list < 0 ? conditions : conditions.slice(0, list + 1)).flatMap(({ column, only }) =>
    only === null ? [] : [{ column, only }],
  );
}

interface IndexedEntry {
  readonly entry: SiteEntry;
  readonly at: number;
  readonly conditions: readonly Condition[];
}

/**
 * The entries to check for a machine, in document order. An entry is looked up by the column with
 * the most different texts, because there may be one for each machine.
 */
function lookup(entries: readonly IndexedEntry[]): (machine: Machine) => readonly IndexedEntry[] {
  const texts = groupedBy(
    entries.flatMap(keysOf),
    ({ column }) => column,
    ({ only }) => only,
  );
  const sizes = new Map([...texts].map(([column, all]) => [column, new Set(all.flat()).size]));
  const different = (column: string): number => sizes.get(column) ?? 0;
  const always: IndexedEntry[] = [];
  const byColumn = new Map<string, Map<string, IndexedEntry[]>>();
  for (const entry of entries) {
    const [key] = keysOf(entry).toSorted(
      (one, other) => different(other.column) - different(one.column),
    );
    if (key === undefined) {
      always.push(entry);
      continue;
    }
    const entriesByValue = byColumn.get(key.column) ?? new Map<string, IndexedEntry[]>();
    byColumn.set(key.column, entriesByValue);
    for (const text of key.only) {
      const before = entriesByValue.get(text);
      if (before === undefined) entriesByValue.set(text, [entry]);
      else before.push(entry);
    }
  }
  const columns = [...byColumn];
  return (machine) => {
    const found = columns.flatMap(
      ([column, entriesByValue]) => entriesByValue.get(columnValue(machine, column) ?? "") ?? [],
    );
    return found.length === 0
      ? always
      : [...always, ...found].sort((one, other) => one.at - other.at);
  };
}

/** Cached decisions. Machines that match the same entries share one. */
const DECISIONS = 1000;

/** Columns that are merged by key. */
const BY_KEY = ["driver_info", "properties"] as const;

function merged(earlier: JsonObject, later: JsonObject): JsonObject {
  const columns = BY_KEY.flatMap((column) =>
    earlier[column] === undefined && later[column] === undefined
      ? []
      : [[column, { ...objectOf(earlier[column] ?? {}), ...objectOf(later[column] ?? {}) }]],
  );
  return { ...earlier, ...later, ...Object.fromEntries(columns) };
}

/** Compiles the site document. The result is applied to each machine. */
export function compileSite(site: Site) {
  const entries = site.machines.map(
    (entry, at): IndexedEntry => ({
      entry,
      at,
      conditions: Object.entries(entry.match).map(conditionOf),
    }),
  );
  const near = lookup(entries);
  const matched = new Set<SiteEntry>();
  const decisions = new Map<string, Decided>();
  const of = (machine: Machine): Decided => {
    const matching = near(machine).filter(({ conditions }) =>
      conditions.every(({ matches }) => matches(machine)),
    );
    const key = matching.map(({ at }) => at).join();
    const before = decisions.get(key);
    if (before !== undefined) return before;
    if (decisions.size >= DECISIONS) decisions.clear();
    const decided = matching.reduce<Decided>((earlier, { entry }) => {
      matched.add(entry);
      return {
        set: merged(earlier.set, entry.set ?? {}),
        skip: entry.skip ?? earlier.skip,
        accept: [...(entry.accept ?? []), ...earlier.accept],
      };
    }, NOTHING);
    decisions.set(key, decided);
    return decided;
  };
  /** Findings of entries and list texts without a machine so far. An empty match is allowed. */
  const unmatched = (): readonly Finding[] =>
    entries.flatMap(({ entry, at, conditions }) => {
      const isUnmatched = !matched.has(entry) && Object.keys(entry.match).length > 0;
      const none: readonly object[] = isUnmatched
        ? [entry.match]
        : conditions.flatMap(({ missed }) => missed?.() ?? []);
      const location = `${site.file ?? "the site document"} /machines/${at}/match`;
      return none.map((match) =>
        finding("N2I-D310", location, `no machine has ${JSON.stringify(match)}`),
      );
    });
  return { of: entries.length === 0 ? () => NOTHING : of, unmatched };
}

/** The machine with credentials in the selected charset, and without the finding about them. */
export function asRead(machine: Machine, set: JsonObject): Machine {
  const { decoded, node, findings } = machine;
  if (set.credentials_charset !== "utf8" || decoded === undefined) return machine;
  return {
    ...machine,
    node: { ...node, ...decoded },
    findings: findings.filter(({ code }) => code !== "N2I-D125"),
  };
}
