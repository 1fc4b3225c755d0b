import type { Left, Lefts } from "./change.ts";
import { MANY, pack } from "./packed.ts";
import { uuidBytes, uuidText } from "./texts.ts";

/** Ids of changes or of machines in their order; what ends in a uuid, as nearly all do, takes 17 bytes. */
interface PackedIds extends Iterable<string> {
  readonly length: number;
  readonly push: (id: string) => void;
}

/** Bytes of an id: which word stands before its uuid, and that. */
const WIDTH = 17;
const UUID = 36;
/** Stands for no word: the id is kept as it is. */
const WHOLE = 255;
/** Ids of a part, where nobody knows how many come. */
const PART = 4096;

/** @param ids those there are; more can be pushed */
export function packIds(ids: readonly string[] = []): PackedIds {
  const size = ids.length > 0 ? ids.length : PART;
  const parts: Buffer[] = [];
  const words: string[] = [];
  const others: string[] = [];
  let length = 0;
  const wordOf = (word: string): number => {
    const known = words.indexOf(word);
    return known >= 0 || words.length === WHOLE ? known : words.push(word) - 1;
  };
  const push = (id: string): void => {
    const at = length % size;
    if (at === 0) parts.push(Buffer.alloc(size * WIDTH));
    const bytes = parts.at(-1)?.subarray(at * WIDTH, (at + 1) * WIDTH) ?? Buffer.alloc(WIDTH);
    const start = Math.max(0, id.length - UUID);
    const word = uuidBytes(id.slice(start), bytes.subarray(1)) ? wordOf(id.slice(0, start)) : -1;
    if (word < 0) bytes.writeUInt32LE(others.push(id) - 1, 1);
    bytes[0] = word < 0 ? WHOLE : word;
    length += 1;
  };
  for (const id of ids) push(id);
  return {
    push,
    get length() {
      return length;
    },
    *[Symbol.iterator]() {
      for (let at = 0; at < length; at += 1) {
        const [part, from] = [parts[Math.floor(at / size)], (at % size) * WIDTH];
        if (part === undefined) return;
        const word = part[from] ?? WHOLE;
        if (word === WHOLE) yield others[part.readUInt32LE(from + 1)] ?? "";
        else yield `${words[word]}${uuidText(part.toString("hex", from + 1, from + WIDTH))}`;
      }
    },
  };
}

/** Gathers changes that were left: packed once they are many. */
export function createLefts() {
  const few: Left[] = [];
  let many: ReturnType<typeof packLefts> | null = null;
  return {
    add(lefts: Lefts): void {
      if (many === null && few.length + lefts.length > MANY) {
        many = packLefts();
        for (const left of few.splice(0)) many.push(left);
      }
      for (const left of lefts) (many ?? few).push(left);
    },
    all: (): Lefts => many ?? few,
  };
}

function packLefts(): Lefts & { readonly push: (left: Left) => void } {
  const ids = packIds();
  // Many are left for the same reason.
  const whys = pack<Pick<Left, "why">>({ why: "word" });
  return {
    push(left) {
      ids.push(left.id);
      whys.put(left);
    },
    get length() {
      return ids.length;
    },
    *[Symbol.iterator]() {
      let at = 0;
      for (const id of ids) yield { id, why: whys.at(at++)?.why ?? "" };
    },
  };
}
