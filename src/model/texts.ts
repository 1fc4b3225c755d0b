/** Texts, each once, by a number: rows of several tables that name the same machines share them. */
export interface Texts {
  /** The number of a value, from now on if it had none: of a uuid 0 and up, of anything else below. */
  readonly code: (value: unknown) => number;
  /** The same of a text; null where it has none. */
  readonly find: (text: string) => number | null;
  readonly at: (code: number) => unknown;
  /** The number of the text in lower case; null of null and of the empty one. */
  readonly folded: (code: number) => number | null;
  /** How many uuids have one. */
  readonly uuids: () => number;
}

/** A uuid takes 24 to 28 bytes, any other text what it takes. */
export function createTexts(): Texts {
  const uuids = createUuids();
  const others: unknown[] = [];
  const codes = new Map<unknown, number>();
  const code = (value: unknown): number => {
    const uuid = typeof value === "string" ? uuids.code(value) : null;
    if (uuid !== null) return uuid;
    const known = codes.get(value);
    if (known !== undefined) return known;
    const made = -others.push(value);
    codes.set(value, made);
    return made;
  };
  const at = (number: number): unknown => (number < 0 ? others[-number - 1] : uuids.at(number));
  return {
    ...{ code, at },
    find: (text) => uuids.find(text) ?? codes.get(text) ?? null,
    folded(number) {
      if (number >= 0) return number;
      const value = at(number) ?? "";
      return value === "" ? null : code(String(value).toLowerCase());
    },
    uuids: uuids.length,
  };
}

/** Uuids of a part. */
const PART = 4096;
/** Numbers of 32 bits that a uuid is, and one for the next of the same hash. */
const WIDTH = 5;

/** Uuids by the order in which they came. */
function createUuids() {
  const parts: Int32Array[] = [];
  // The one that is looked at, as four numbers and as bytes.
  const words = new Int32Array(4);
  const bytes = Buffer.from(words.buffer);
  let heads = new Int32Array(PART);
  let length = 0;

  const lookAt = (code: number): Int32Array | undefined => {
    const part = parts[Math.floor(code / PART)];
    const from = (code % PART) * WIDTH;
    if (part !== undefined) words.set(part.subarray(from, from + 4));
    return part;
  };
  const chain = (code: number, part: Int32Array): void => {
    const head = hashOf(words) & (heads.length - 1);
    part[(code % PART) * WIDTH + 4] = heads[head] ?? 0;
    heads[head] = code + 1;
  };
  const find = (): number | null => {
    for (let at = (heads[hashOf(words) & (heads.length - 1)] ?? 0) - 1; at >= 0; ) {
      const part = parts[Math.floor(at / PART)];
      const from = (at % PART) * WIDTH;
      if (part === undefined || isAt(part, from, words)) return at;
      at = (part[from + 4] ?? 0) - 1;
    }
    return null;
  };
  const add = (): number => {
    const code = length++;
    if (code % PART === 0) parts.push(new Int32Array(PART * WIDTH));
    const part = parts.at(-1);
    part?.set(words, (code % PART) * WIDTH);
    if (part !== undefined) chain(code, part);
    return code;
  };
  const grow = (): void => {
    heads = new Int32Array(heads.length * 2);
    for (let code = 0; code < length; code += 1) {
      const part = lookAt(code);
      if (part !== undefined) chain(code, part);
    }
  };
  return {
    length: (): number => length,
    find: (text: string): number | null => (uuidBytes(text, bytes) ? find() : null),
    /** Null for what is no uuid. */
    code(text: string): number | null {
      if (length === heads.length) grow();
      return uuidBytes(text, bytes) ? (find() ?? add()) : null;
    },
    at(code: number): string {
      lookAt(code);
      return uuidText(bytes.toString("hex"));
    },
  };
}

/** Uuids as databases write them. */
const FORM = "00000000-0000-0000-0000-000000000000";
/** By the code of a character: the digit it is. */
const DIGITS = new Int8Array(128).fill(-1);
for (const [value, digit] of [..."0123456789abcdef"].entries()) DIGITS[digit.charCodeAt(0)] = value;

/** Puts the bytes of a uuid there. @returns whether it is one; of another the bytes are of no use */
export function uuidBytes(text: string, bytes: Uint8Array): boolean {
  if (text.length !== FORM.length) return false;
  for (let at = 0, put = 0; at < FORM.length; ) {
    if (FORM[at] === "-") {
      if (text[at++] !== "-") return false;
      continue;
    }
    const high = DIGITS[text.charCodeAt(at++)] ?? -1;
    const low = DIGITS[text.charCodeAt(at++)] ?? -1;
    if (high < 0 || low < 0) return false;
    bytes[put++] = high * 16 + low;
  }
  return true;
}

/** A uuid of its 32 digits. */
export function uuidText(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function hashOf(words: Int32Array): number {
  let mixed = 0;
  for (let at = 0; at < 4; at += 1)
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ (words[at] ?? 0), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

function isAt(part: Int32Array, from: number, words: Int32Array): boolean {
  return (
    part[from] === words[0] &&
    part[from + 1] === words[1] &&
    part[from + 2] === words[2] &&
    part[from + 3] === words[3]
  );
}
