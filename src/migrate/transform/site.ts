import { type JsonObject, objectOf } from "../../lib/json.ts";
import { type Acceptance, type Finding, findingIf } from "../../model/finding.ts";
import { columnsOf, type Machine } from "../../model/machine.ts";
import type { Site, SiteEntry } from "../../model/mapping.ts";

/** What the operator decided for one machine: the entries that match it, later ones over earlier. */
export interface Decided {
  readonly set: JsonObject;
  readonly skip: string | null;
  readonly accept: readonly Acceptance[];
}

const NOTHING: Decided = { set: {}, skip: null, accept: [] };

/** `*` stands for any text; everything else for itself. @returns asks a value in lower case */
function pattern(text: string): (lower: string) => boolean {
  const whole = text.toLowerCase();
  if (!whole.includes("*")) return (lower) => lower === whole;
  const [first = "", ...rest] = whole.split("*");
  const last = rest.pop() ?? "";
  // Not an expression: many stars would make one try every way to share a long text among them.
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

/** What a machine has in a column, in lower case: upper and lower case are the same. */
function wordOf({ node }: Machine, column: string): string | null {
  const value = columnsOf(node)[column];
  return typeof value === "string" || typeof value === "number"
    ? String(value).toLowerCase()
    : null;
}

/** One of the texts of a condition, and whether a machine had it. */
interface Wanted {
  readonly text: string;
  isUsed: boolean;
}

interface Condition {
  readonly column: string;
  /** What it has to be, in lower case; null where a pattern may fit too. */
  readonly only: readonly string[] | null;
  readonly matches: (machine: Machine) => boolean;
  /** Of a list, texts that no machine had; null: it is none. */
  readonly missed: (() => readonly object[]) | null;
}

/** Kept small: there may be one for each machine. */
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

/** Of a list one text has to fit; those without a star are looked up, as there may be one for each machine. */
function oneOf(column: string, texts: readonly string[]): Condition {
  // A text that is there twice is one text.
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
 * Conditions an entry may be looked up by. None behind a list: of that each text counts as had by a machine
 * that fits so far.
 */
function keysOf({ conditions }: Asked): readonly { column: string; only: readonly string[] }[] {
  const list = conditions.findIndex(({ missed }) => missed !== null);
  return (list < 0 ? conditions : conditions.slice(0, list + 1)).flatMap(({ column, only }) =>
    only === null ? [] : [{ column, only }],
  );
}

/** An entry and its place in the document. */
interface Asked {
  readonly entry: SiteEntry;
  readonly at: number;
  readonly conditions: readonly Condition[];
}

/**
 * Which entries a machine has to be asked about, in the order of the document: there may be one for each
 * machine, so each is looked up by the column of which the document has the most different texts.
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

/** Decisions that are remembered, by the entries they are of: machines that match the same share one. */
const DECISIONS = 1000;

/** Columns whose keys are set one by one: a later entry keeps the keys that it does not name. */
const BY_KEY = ["driver_info", "properties"] as const;

function merged(earlier: JsonObject, later: JsonObject): JsonObject {
  const columns = BY_KEY.flatMap((column) =>
    earlier[column] === undefined && later[column] === undefined
      ? []
      : [[column, { ...objectOf(earlier[column] ?? {}), ...objectOf(later[column] ?? {}) }]],
  );
  return { ...earlier, ...later, ...Object.fromEntries(columns) };
}

/** Reads the site document once; asks it for each machine. */
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
  /** Entries that matched none of the machines asked about so far, and texts of lists; an empty match never misses. */
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
