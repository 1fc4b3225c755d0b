import { createShortTexts } from "./short-texts.ts";
import { createTexts, type Texts } from "./texts.ts";

/** Rows that are gone through again and again: an array's, or packed ones. */
export interface Rows<T> extends Iterable<T> {
  readonly length: number;
  readonly at: (position: number) => T | undefined;
}

/**
 * What a column holds: uuids, or other text, of which hardly any is like another; values of which many are the same,
 * kept once each; short texts, each for itself; MACs as `normaliseMac` gives them; numbers.
 */
type Kind = "text" | "word" | "short" | "mac" | "number";

type Value = string | number | null;

interface Column {
  readonly put: (value: unknown) => void;
  readonly at: (position: number) => unknown;
  /** Positions of the rows that have a value, in their order; as many rows as were put. */
  readonly index: () => (value: Value) => readonly number[];
}

/** Rows of a part of a column. */
const PART = 4096;
const NOWHERE: readonly number[] = [];

/** Numbers of a part of a column, in as few bytes each as the largest of them takes. */
type Numbers = Uint8Array | Int32Array | Float64Array;

function holds(part: Numbers, value: number): boolean {
  if (part instanceof Uint8Array) return (value & 0xff) === value;
  return part instanceof Float64Array || (value | 0) === value;
}

function createNumbers() {
  const parts: Numbers[] = [];
  let part: Numbers = new Uint8Array(0);
  let length = 0;
  return {
    put(value: number): void {
      const at = length++ % PART;
      if (at === 0) part = new Uint8Array(PART);
      while (!holds(part, value))
        part = part instanceof Uint8Array ? Int32Array.from(part) : Float64Array.from(part);
      part[at] = value;
      parts[(length - 1 - at) / PART] = part;
    },
    at: (position: number): number | undefined =>
      parts[Math.floor(position / PART)]?.[position % PART],
    length: (): number => length,
  };
}

/** In order, as rows come that are read in order of their ids, they need no index beside them. */
function numberColumn(): Column {
  const numbers = createNumbers();
  let ordered = true;
  let last = Number.NEGATIVE_INFINITY;
  return {
    put(given) {
      const value = Number(given);
      ordered &&= value >= last;
      last = value;
      numbers.put(value);
    },
    at: numbers.at,
    index: () =>
      ordered ? (value) => within(numbers, Number(value)) : byKey(numbers.length(), numbers.at),
  };
}

/** Where a value stands among numbers in order. */
function within(numbers: ReturnType<typeof createNumbers>, value: number): readonly number[] {
  let [low, high] = [0, numbers.length()];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers.at(middle) ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  const found: number[] = [];
  for (; numbers.at(low) === value; low += 1) found.push(low);
  return found;
}

/** Of values that are few, or come in no order. */
function byKey(
  length: number,
  valueAt: (position: number) => unknown,
): (value: Value) => readonly number[] {
  const found = new Map<string, number[]>();
  for (let at = 0; at < length; at += 1) {
    const key = keyOf(valueAt(at));
    const known = found.get(key);
    if (known !== undefined) known.push(at);
    else if (key !== "") found.set(key, [at]);
  }
  return (value) => found.get(keyOf(value)) ?? NOWHERE;
}

/** Values, each once, by a number from 0 on. */
function createWords() {
  const known: unknown[] = [];
  const codes = new Map<unknown, number>();
  return {
    at: (code: number): unknown => known[code],
    code(value: unknown): number {
      const met = codes.get(value);
      if (met !== undefined) return met;
      const code = known.push(value) - 1;
      codes.set(value, code);
      return code;
    },
  };
}

function wordColumn(): Column {
  const words = createWords();
  const numbers = createNumbers();
  // The next row often says the same: to compare is cheaper than to look it up.
  let last: { readonly value: unknown; readonly code: number } | null = null;
  const at = (position: number): unknown => words.at(numbers.at(position) ?? -1);
  return {
    put(value) {
      if (last === null || last.value !== value) {
        const code = words.code(value);
        last = { value: words.at(code), code };
      }
      numbers.put(last.code);
    },
    at,
    index: () => byKey(numbers.length(), at),
  };
}

function textColumn(texts: Texts): Column {
  const numbers = createNumbers();
  return {
    put: (value) => numbers.put(texts.code(value)),
    at(position) {
      const code = numbers.at(position);
      return code === undefined ? undefined : texts.at(code);
    },
    index() {
      const length = numbers.length();
      const uuids = new Int32Array(texts.uuids());
      const others = new Map<number, number>();
      // Few tables have a text twice.
      let next: Int32Array | undefined;
      const firstOf = (code: number): number => uuids[code] ?? others.get(code) ?? 0;
      // Backwards, so that each chain is in order.
      for (let at = length - 1; at >= 0; at -= 1) {
        const code = texts.folded(numbers.at(at) ?? 0);
        if (code === null) continue;
        const first = firstOf(code);
        if (first > 0) {
          next ??= new Int32Array(length);
          next[at] = first;
        }
        if (code >= 0 && code < uuids.length) uuids[code] = at + 1;
        else others.set(code, at + 1);
      }
      return (value) => {
        const code = texts.find(keyOf(value));
        const found: number[] = [];
        if (code === null) return found;
        for (let at = firstOf(code) - 1; at >= 0; at = (next?.[at] ?? 0) - 1) found.push(at);
        return found;
      };
    },
  };
}

/** Short texts by where they are; what is none is kept as it is. */
function shortColumn(): Column {
  const numbers = createNumbers();
  const texts = createShortTexts();
  const others = createWords();
  const at = (position: number): unknown => {
    const place = numbers.at(position);
    if (place === undefined) return undefined;
    return place < 0 ? others.at(-1 - place) : texts.at(place);
  };
  return {
    put(value) {
      const place = typeof value === "string" ? texts.put(value) : null;
      numbers.put(place ?? -1 - others.code(value));
    },
    at,
    index: () => byKey(numbers.length(), at),
  };
}

const MAC = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/;

/** MACs are the numbers they write; what is none is kept as it is. */
function macColumn(): Column {
  const numbers = createNumbers();
  const others = createWords();
  const at = (position: number): unknown => {
    const number = numbers.at(position);
    if (number === undefined) return undefined;
    return number < 0 ? others.at(-1 - number) : macOf(number);
  };
  return {
    put: (value) =>
      numbers.put(
        typeof value === "string" && MAC.test(value)
          ? Number.parseInt(value.replaceAll(":", ""), 16)
          : -1 - others.code(value),
      ),
    at,
    index: () => byKey(numbers.length(), at),
  };
}

function macOf(number: number): string {
  return number
    .toString(16)
    .padStart(12, "0")
    .replaceAll(/..(?=.)/g, "$&:");
}

const COLUMNS: { readonly [kind in Kind]: (texts: Texts) => Column } = {
  text: textColumn,
  word: wordColumn,
  short: shortColumn,
  mac: macColumn,
  number: numberColumn,
};

/** A row of these is what its columns say; each is read when it is asked for. */
function viewOf(columns: ReadonlyMap<string, Column>) {
  class View {
    readonly #at: number;
    constructor(at: number) {
      this.#at = at;
    }
    read(column: Column): unknown {
      return column.at(this.#at);
    }
  }
  for (const [name, column] of columns)
    Object.defineProperty(View.prototype, name, {
      get(this: View) {
        return this.read(column);
      },
    });
  return View;
}

/** Rows that take tens of bytes each, whatever is in them: those of a whole fleet may be in memory. */
interface Packed<T> extends Rows<T> {
  readonly put: (row: T) => void;
}

const PACKED = new WeakMap<object, ReadonlyMap<PropertyKey, Column>>();

/**
 * @param kinds what the columns of a row hold
 * @param texts shared with other rows that name the same machines
 */
export function pack<T extends object>(
  kinds: { readonly [name in keyof T]: Kind },
  texts: Texts = createTexts(),
): Packed<T> {
  const columns = new Map(
    Object.entries<Kind>(kinds).map(([name, kind]) => [name, COLUMNS[kind](texts)] as const),
  );
  const View = viewOf(columns);
  let length = 0;
  // It has a getter for each column, which gives what was put.
  const view = (at: number): T => new View(at) as unknown as T;
  const packed: Packed<T> = {
    put(row) {
      INDEXES.delete(packed);
      for (const [name, column] of columns) column.put(Reflect.get(row, name));
      length += 1;
    },
    get length() {
      return length;
    },
    at: (position) => (position >= 0 && position < length ? view(position) : undefined),
    *[Symbol.iterator]() {
      for (let at = 0; at < length; at += 1) yield view(at);
    },
  };
  PACKED.set(packed, columns);
  return packed;
}

/** From so many on it pays to pack: before, what packs is hardly compiled. */
export const MANY = 10_000;

const INDEXES = new WeakMap<object, Map<PropertyKey, unknown>>();

/** Rows by what a column of theirs says, in their order. */
type Index<T> = (value: Value) => readonly T[];

/** Finds rows by a column, upper and lower case the same; of none without a value. Four bytes a row. */
export function index<T extends object>(rows: Rows<T>, column: keyof T): Index<T> {
  const known = INDEXES.get(rows) ?? new Map<PropertyKey, unknown>();
  INDEXES.set(rows, known);
  // Under the name of a column is its index.
  const made = (known.get(column) as Index<T> | undefined) ?? indexOf(rows, column);
  known.set(column, made);
  return made;
}

function indexOf<T extends object>(rows: Rows<T>, column: keyof T): Index<T> {
  const find =
    PACKED.get(rows)?.get(column)?.index() ??
    byKey(rows.length, (position) => rows.at(position)?.[column]);
  return (value) => {
    const found: T[] = [];
    if (keyOf(value) === "") return found;
    for (const position of find(value)) {
      const row = rows.at(position);
      if (row !== undefined) found.push(row);
    }
    return found;
  };
}

function keyOf(value: unknown): string {
  return value === null || value === undefined ? "" : String(value).toLowerCase();
}

/** Whether a text was met, upper and lower case the same. */
export interface Met {
  readonly has: (text: string) => boolean;
}

/** Texts of a whole fleet, a bit each besides what `texts` keeps of them. */
export function createMet(
  texts: Texts = createTexts(),
): Met & { readonly add: (text: string) => boolean } {
  let bits = new Uint8Array(PART);
  const others = new Set<number>();
  const isMet = (code: number): boolean =>
    code < 0 ? others.has(code) : (((bits[code >>> 3] ?? 0) >>> (code & 7)) & 1) === 1;
  return {
    has(text) {
      const code = texts.find(keyOf(text));
      return code !== null && isMet(code);
    },
    /** @returns whether it is new */
    add(text) {
      const code = texts.code(keyOf(text));
      if (isMet(code)) return false;
      if (code < 0) others.add(code);
      else {
        while (code >>> 3 >= bits.length) bits = grown(bits);
        bits[code >>> 3] = (bits[code >>> 3] ?? 0) | (1 << (code & 7));
      }
      return true;
    },
  };
}

/** The same for few texts or many, of which few are not packed. */
export function metMany(): ReturnType<typeof createMet> {
  const many = createMet();
  let few: Set<string> | null = new Set();
  const has = (text: string): boolean => few?.has(keyOf(text)) ?? many.has(text);
  return {
    has,
    add(text) {
      if (has(text)) return false;
      if (few === null) return many.add(text);
      few.add(keyOf(text));
      if (few.size < MANY) return true;
      for (const one of few) many.add(one);
      few = null;
      return true;
    },
  };
}

/** Ids as a set has them. */
export type Ids = Pick<ReadonlySet<string>, "size" | "has"> & {
  readonly values: () => Iterable<string>;
};

function grown(bits: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(bits.length * 2);
  more.set(bits);
  return more;
}
