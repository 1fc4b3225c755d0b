/** Texts that are kept as bytes in parts, one after the other. */
interface ShortTexts {
  /** Where it is from now on; null for one that is too long, or has a character of more than a byte. */
  readonly put: (text: string) => number | null;
  readonly at: (place: number) => string;
}

/** Bytes of a part; a text with its length never goes beyond it. */
const PART = 64 * 1024;
const LONGEST = 255;

/** Addresses, digests: a character takes a byte, a text one more. What is put is never looked for. */
export function createShortTexts(): ShortTexts {
  const parts: Buffer[] = [];
  let part = Buffer.alloc(0);
  let used = PART;
  return {
    put(text) {
      const { length } = text;
      if (length > LONGEST) return null;
      if (used + LONGEST >= PART) {
        part = Buffer.alloc(PART);
        parts.push(part);
        used = 0;
      }
      for (let at = 0; at < length; at += 1) {
        const code = text.charCodeAt(at);
        if (code > LONGEST) return null;
        part[used + 1 + at] = code;
      }
      part[used] = length;
      const place = (parts.length - 1) * PART + used;
      used += 1 + length;
      return place;
    },
    at(place) {
      const from = place % PART;
      const found = parts[(place - from) / PART];
      return found?.toString("latin1", from + 1, from + 1 + (found[from] ?? 0)) ?? "";
    },
  };
}
