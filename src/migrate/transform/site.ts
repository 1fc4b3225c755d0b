import { grouped, groupedBy } from "../../lib/grouped.ts";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import { type Acceptance, type Finding, finding } from "../../model/findings.ts";
import { columnsOf, type Machine } from "../../model/machine.ts";
import type { Site, SiteEntry } from "../../model/mapping.ts";

/** Columns that are merged by key. */
const BY_KEY = ["driver_info", "properties"] as const;

/** The merged site entries of one machine. Later entries take precedence. */
export type Decided = typeof NOTHING;

const NOTHING: {
  readonly set: JsonObject;
  /** Also with keys such as driver_info.key as separate fields, because rules read flat sources. */
  readonly flat: JsonObject;
  readonly skip: string | null;
  readonly accept: readonly Acceptance[];
} = { set: {}, flat: {}, skip: null, accept: [] };

/** The keys of driver_info and properties as separate fields: `driver_info.key`. */
export function nested(set: JsonObject): JsonObject {
  const fields = BY_KEY.flatMap((column) =>
    Object.entries(set[column] ?? {}).map(([key, value]) => [`${column}.${key}`, value]),
  );
  return Object.fromEntries(fields);
}

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
 * The column and text of each condition by which an entry can be looked up, up to the first list. A
 * list records matches only for machines that match all conditions before it.
 */
function keysOf({ conditions }: IndexedEntry) {
  const list = conditions.findIndex(({ missed }) => missed !== null);
  const before = list < 0 ? conditions : conditions.slice(0, list + 1);
  return before.flatMap(({ column, only }) => (only ?? []).map((text) => ({ column, text })));
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
  const texts = grouped(entries.flatMap(keysOf), ({ column }) => column);
  const sizes = [...texts].map(
    ([column, keys]) => [column, new Set(keys.map(({ text }) => text)).size] as const,
  );
  const columns = sizes.toSorted(([, one], [, other]) => other - one).map(([column]) => column);
  const always: IndexedEntry[] = [];
  const keyed = entries.flatMap((entry) => {
    const keys = keysOf(entry);
    const by = columns.find((column) => keys.some((key) => key.column === column));
    if (by === undefined) always.push(entry);
    return keys.filter(({ column }) => column === by).map((key) => ({ ...key, entry }));
  });
  const byColumn = [...grouped(keyed, ({ column }) => column)].map(([column, keys]) => ({
    column,
    entriesOf: groupedBy(
      keys,
      ({ text }) => text,
      ({ entry }) => entry,
    ),
  }));
  return (machine) => {
    const found = byColumn.flatMap(
      ({ column, entriesOf }) => entriesOf.get(columnValue(machine, column) ?? "") ?? [],
    );
    return found.length === 0
      ? always
      : [...always, ...found].sort((one, other) => one.at - other.at);
  };
}

/** Cached decisions. Machines that match the same entries share one. */
const DECISIONS = 1000;

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
    const { set, ...rest } = matching.reduce<Omit<Decided, "flat">>((earlier, { entry }) => {
      matched.add(entry);
      return {
        set: merged(earlier.set, entry.set ?? {}),
        skip: entry.skip ?? earlier.skip,
        accept: [...(entry.accept ?? []), ...earlier.accept],
      };
    }, NOTHING);
    const decided = { ...rest, set, flat: { ...set, ...nested(set) } };
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
