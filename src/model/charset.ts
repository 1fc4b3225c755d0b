/** What a plain text column of the charset cannot hold; one that is not here holds everything, or is unknown. */
export const BEYOND: { readonly [charset: string]: RegExp } = {
  utf8mb3: /[\ud800-\udfff]/,
  latin1: /[\u0100-\uffff]/,
  ascii: /[\u0080-\uffff]/,
};

/** What MySQL's latin1 makes of the bytes 0x80 to 0x9f; the five it has no letter for stay as they are. */
const CP1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

/** What may be wrong with a credential's characters, seen before it is sealed. */
export function credentialFault(text: string): "nul" | "utf8-as-latin1" | "not-ascii" | null {
  if (text.includes("\0")) return "nul";
  if (isAscii(text)) return null;
  return decodedCredential(text) === null ? "not-ascii" : "utf8-as-latin1";
}

/**
 * The text that was meant, where bytes of UTF-8 were stored in a Latin-1 column; null where the
 * text cannot have come about that way.
 *
 * @source facts/nova-bm.md 1.1
 */
export function decodedCredential(text: string): string | null {
  if (isAscii(text)) return null;
  const bytes: number[] = [];
  for (const letter of text) {
    const at = CP1252.indexOf(letter);
    const byte = at < 0 ? (letter.codePointAt(0) ?? 0) : 0x80 + at;
    if (byte > 0xff) return null;
    bytes.push(byte);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes));
  } catch {
    return null;
  }
}

function isAscii(text: string): boolean {
  return [...text].every((letter) => letter <= "\u007f");
}
