/** Characters that a column of the charset cannot store. Others store all or are unknown. */
export const BEYOND: { readonly [charset: string]: RegExp } = {
  utf8mb3: /[\ud800-\udfff]/,
  latin1: /[\u0100-\uffff]/,
  ascii: /[\u0080-\uffff]/,
};

/** MySQL's latin1 for bytes 0x80 to 0x9f. Five have no letter and stay unchanged. */
const CP1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

export function credentialFault(text: string): "nul" | "utf8-as-latin1" | "not-ascii" | null {
  if (text.includes("\0")) return "nul";
  if (isAscii(text)) return null;
  return decodedCredential(text) === null ? "not-ascii" : "utf8-as-latin1";
}

/** The text whose UTF-8 bytes were stored as Latin-1, else null. @source facts/nova-bm.md 1.1 */
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
