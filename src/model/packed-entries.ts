import type { Entries, Entry, MachineEntry } from "./journal.ts";
import { type JsonObject, parsedJson } from "./json.ts";
import { join, type Moment, split } from "./moment.ts";
import { pack } from "./packed.ts";
import { packIds } from "./packed-ids.ts";

/** Entries that are added one after the other. */
export interface PackedEntries extends Entries {
  readonly push: (entry: Entry) => void;
  /** Those there are now, whatever is added later. */
  readonly soFar: () => Entries;
}

/** An entry of a machine; of any other nothing is in it. */
interface Line extends Moment {
  readonly do: MachineEntry["do"] | null;
  readonly part: string;
  readonly id: string;
  readonly by: string | null;
  /** What was observed or left, as JSON: of many machines it is the same. */
  readonly more: string | null;
}

const OTHER: Line = {
  ...{ do: null, part: "", id: "", minute: "", ms: -1, by: null, more: null },
};

/**
 * Keeps entries of a journal. Those of machines, of which a large fleet has hundreds of thousands, take tens of
 * bytes each, and are made anew whenever they are asked for; the others are kept as they are, but for long lists.
 */
export function packEntries(): PackedEntries {
  const kept = createKept();
  const soFar = (): Entries => {
    const length = kept.length();
    return upTo(kept, () => length);
  };
  return Object.assign(upTo(kept, kept.length), { push: kept.push, soFar });
}

type Kept = ReturnType<typeof createKept>;

function createKept() {
  const word = "word" as const;
  const lines = pack<Line>({
    ...{ do: word, part: word, id: "text", minute: word, ms: "number", by: word, more: word },
  });
  const others = new Map<number, Entry>();
  /** Parts that go machine by machine. */
  const parts = new Set<string>();
  const parse = createParse();
  return {
    length: (): number => lines.length,
    push(entry: Entry): void {
      const line = lineOf(entry);
      if (line === null) others.set(lines.length, withPackedLists(entry));
      else parts.add(line.part);
      lines.put(line ?? OTHER);
    },
    at(position: number): Entry | undefined {
      const line = lines.at(position);
      return line === undefined ? undefined : (others.get(position) ?? entryOf(line, parse));
    },
    /** Those of no machine; what is pushed meanwhile is met. */
    *others(length: () => number): Generator<Entry> {
      for (const [position, entry] of others) if (position < length()) yield entry;
    },
    /** Those of machines need not be looked at where only parts are wanted that go by batches. */
    *of(length: () => number, wanted: readonly string[]): Generator<Entry> {
      const isWanted = (entry: Entry): boolean => "part" in entry && wanted.includes(entry.part);
      if (!wanted.some((part) => parts.has(part))) {
        for (const [position, entry] of others)
          if (position < length() && isWanted(entry)) yield entry;
        return;
      }
      for (let position = 0; position < length(); position += 1) {
        const line = lines.at(position);
        const other = line?.do === null ? others.get(position) : undefined;
        if (other !== undefined && isWanted(other)) yield other;
        if (line !== undefined && line.do !== null && wanted.includes(line.part))
          yield entryOf(line, parse);
      }
    },
  };
}

/** The first so many of them, as an array of them would answer. */
function upTo(kept: Kept, length: () => number): Entries & { readonly toJSON: () => unknown } {
  function* all(from = 0): Generator<Entry> {
    for (let position = from; position < length(); position += 1) {
      const entry = kept.at(position);
      if (entry !== undefined) yield entry;
    }
  }
  const at = (given: number): Entry | undefined => {
    const position = given < 0 ? length() + given : given;
    return position < length() ? kept.at(position) : undefined;
  };
  const find = (is: (entry: Entry) => boolean): Entry | undefined => {
    for (const entry of all()) if (is(entry)) return entry;
    return undefined;
  };
  const findLastIndex = (is: (entry: Entry) => boolean): number => {
    let position = length() - 1;
    for (; position >= 0; position -= 1) {
      const entry = kept.at(position);
      if (entry !== undefined && is(entry)) break;
    }
    return position;
  };
  const some = (is: (entry: Entry) => boolean): boolean => {
    for (const entry of all()) if (is(entry)) return true;
    return false;
  };
  return {
    get length() {
      return length();
    },
    [Symbol.iterator]: () => all(),
    // Whoever looks for a secret in their text finds what stands in them.
    toJSON: () => [...all()],
    of: (...wanted) => kept.of(length, wanted),
    others: () => kept.others(length),
    ...{ at, find, findLastIndex, some },
    findLast: (is) => kept.at(findLastIndex(is)),
    every: (is) => !some((entry) => !is(entry)),
    filter(is) {
      const found: Entry[] = [];
      for (const entry of all()) if (is(entry)) found.push(entry);
      return found;
    },
    flatMap(to) {
      const found: ReturnType<typeof to>[number][] = [];
      for (const entry of all()) for (const one of to(entry)) found.push(one);
      return found;
    },
    slice: (from) => [...all(from < 0 ? Math.max(0, length() + from) : from)],
  };
}

/** What is the same of one machine after the other becomes one object. */
function createParse(): (text: string) => JsonObject {
  let last: { readonly text: string; readonly told: JsonObject } | null = null;
  return (text) => {
    // As it was written: lineOf put it there.
    if (last?.text !== text) last = { text, told: parsedJson(text) as JsonObject };
    return last.told;
  };
}

/** Ids of a list from which on it is packed. */
const LONG = 20;

/** A rollback may name every row of a batch that it leaves: a long list is made anew whenever it is looked at. */
function withPackedLists(entry: Entry): Entry {
  const packed = { ...entry };
  for (const [name, value] of Object.entries(entry)) {
    if (!isTexts(value) || value.length < LONG) continue;
    const ids = packIds(value);
    Object.defineProperty(packed, name, { enumerable: true, get: () => [...ids] });
  }
  return packed;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Null for what is of no machine. */
function lineOf(entry: Entry): Line | null {
  if (!("id" in entry)) return null;
  const { do: doing, part, id, at } = entry;
  const isBegin = doing === "start" || doing === "return";
  const more = isBegin ? entry.observed : doing === "returned" ? entry.left : undefined;
  return {
    do: doing,
    part,
    id,
    ...split(at),
    by: isBegin ? entry.by : null,
    more: more === undefined ? null : JSON.stringify(more),
  };
}

function entryOf(line: Line, parse: (text: string) => JsonObject): Entry {
  const { do: doing, part, id, by, more } = line;
  const at = join(line);
  const told = more === null ? null : parse(more);
  switch (doing) {
    case "start":
    case "return":
      return told === null
        ? { do: doing, part, id, at, by: by ?? "" }
        : { do: doing, part, id, at, by: by ?? "", observed: told };
    case "returned":
      return told === null ? { do: doing, part, id, at } : { do: doing, part, id, at, left: told };
    case "end":
    case null:
      return { do: "end", part, id, at };
  }
}
