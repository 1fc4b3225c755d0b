import { type JsonObject, objectOf } from "../../lib/json.ts";
import { type Acceptance, type Finding, findingIf } from "../../model/finding.ts";
import { columnsOf, type Machine } from "../../model/machine.ts";
import type { Site, SiteEntry } from "../../model/mapping.ts";

/** The merged site entries of one machine. Later entries take precedence. */
export interface Decided {
  readonly set: JsonObject;
  readonly skip: string | null;
  readonly accept: readonly Acceptance[];
}

const NOTHING: Decided = { set: {}, skip: null, accept: [] };

/** A matcher with `*` for any text. @returns a function for values in lower case */
function pattern(text: string): (lower: string) => boolean {
  const whole = text.toLowerCase();
  if (!whole.includes("*")) return (lower) => lower === whole;
  const [first = "", ...rest] = whole.split("*");
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
function wordOf({ node }: Machine, column: string): string | null {
  const value = columnsOf(node)[column];
  return typeof value === "string" || typeof value === "number"
    ? String(value).toLowerCase()
    : null;
}

/** A text of a condition, and whether a machine matched it. */
interface Wanted {
  readonly text: string;
  isUsed: boolean;
}

interface Condition {
  readonly column: string;
  /** Possible values in lower case. Null if there is a pattern. */
  readonly only: readonly string[] | null;
  readonly matches: (machine: Machine) => boolean;
  /** Texts of a list without a machine. Null if it is not a list. */
  readonly missed: (() => readonly object[]) | null;
}

/** Small, because there may be one for each machine. */
function oneText(column: string, text: string): Condition {
  const fits = pattern(text);
  return {
    column,
    only: text.includes("*") ? null : [text.toLowerCase()],
    matches(machine) {
      const value = wordOf(machine, column);
      return value !== null && fits(value);
    },
    missed: null,
  };
}

/** A list, of which one text must match. Texts without a star are in a map, for long lists. */
function oneOf(column: string, texts: readonly string[]): Condition {
  // Removes duplicates.
  const own = new Map(texts.map((text) => [text.toLowerCase(), text]));
  const wanted = [...own.values()].map((text): Wanted => ({ text, isUsed: false }));
  const whole = new Map(
    wanted.filter(({ text }) => !text.includes("*")).map((one) => [one.text.toLowerCase(), one]),
  );
  const patterns = wanted
    .filter(({ text }) => text.includes("*"))
    .map((one) => ({ one, fits: pattern(one.text) }));
  const fitting = (value: string): readonly Wanted[] => [
    ...[whole.get(value) ?? []].flat(),
    ...patterns.filter(({ fits }) => fits(value)).map(({ one }) => one),
  ];
  return {
    column,
    only: patterns.length === 0 ? [...whole.keys()] : null,
    matches(machine) {
      const value = wordOf(machine, column);
      const found = value === null ? [] : fitting(value);
      for (const one of found) one.isUsed = true;
      return found.length > 0;
    },
    missed: () => wanted.filter(({ isUsed }) => !isUsed).map(({ text }) => ({ [column]: text })),
  };
}

function conditionsOf({ match }: SiteEntry): readonly Condition[] {
  return Object.entries(match).map(([column, texts]) =>
    typeof texts === "string" ? oneText(column, texts) : oneOf(column, texts),
  );
}

/**
 * Conditions by which an entry can be looked up, up to the first list. A list records matches only
 * for machines that match all conditions before it.
 */
function keysOf({ conditions }: Asked): readonly { column: string; only: readonly string[] }[] {
  const list = conditions.findIndex(({ missed }) => missed !== null);
  return (list < 0 ? conditions : conditions.slice(0, list + 1)).flatMap(({ column, only }) =>
    only === null ? [] : [{ column, only }],
  );
}

interface Asked {
  readonly entry: SiteEntry;
  readonly at: number;
  readonly conditions: readonly Condition[];
}

/**
 * The entries to check for a machine, in document order. An entry is looked up by the column with
 * the most different texts, because there may be one for each machine.
 */
function lookup(entries: readonly Asked[]): (machine: Machine) => readonly Asked[] {
  const texts = new Map<string, Set<string>>();
  for (const entry of entries)
    for (const { column, only } of keysOf(entry)) {
      const own = texts.get(column) ?? new Set();
      texts.set(column, own);
      for (const text of only) own.add(text);
    }
  const different = (column: string): number => texts.get(column)?.size ?? 0;
  const always: Asked[] = [];
  const places = new Map<string, Map<string, Asked[]>>();
  for (const entry of entries) {
    const [key] = keysOf(entry).toSorted(
      (one, other) => different(other.column) - different(one.column),
    );
    if (key === undefined) {
      always.push(entry);
      continue;
    }
    const own = places.get(key.column) ?? new Map<string, Asked[]>();
    places.set(key.column, own);
    for (const text of key.only) {
      const before = own.get(text);
      if (before === undefined) own.set(text, [entry]);
      else before.push(entry);
    }
  }
  const columns = [...places];
  return (machine) => {
    const found = columns.flatMap(([column, own]) => own.get(wordOf(machine, column) ?? "") ?? []);
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
    (entry, at): Asked => ({ entry, at, conditions: conditionsOf(entry) }),
  );
  const near = lookup(entries);
  const matched = new Set<SiteEntry>();
  const known = new Map<string, Decided>();
  const of = (machine: Machine): Decided => {
    const own = near(machine).filter(({ conditions }) =>
      conditions.every(({ matches }) => matches(machine)),
    );
    const key = own.map(({ at }) => at).join();
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= DECISIONS) known.clear();
    const decided = own.reduce<Decided>((earlier, { entry }) => {
      matched.add(entry);
      return {
        set: merged(earlier.set, entry.set ?? {}),
        skip: entry.skip ?? earlier.skip,
        accept: [...(entry.accept ?? []), ...earlier.accept],
      };
    }, NOTHING);
    known.set(key, decided);
    return decided;
  };
  /** Findings of entries and list texts without a machine so far. An empty match is allowed. */
  const unmatched = (): readonly Finding[] =>
    entries.flatMap(({ entry, at, conditions }) => {
      const whole = !matched.has(entry) && Object.keys(entry.match).length > 0;
      const none: readonly object[] = whole
        ? [entry.match]
        : conditions.flatMap(({ missed }) => missed?.() ?? []);
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
