import { UNSEEN } from "../../model/unseen.ts";

const NAMED: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * The text with every such character written out (`\x1b`, `\u202e`), so that a row of a database
 * cannot repaint the operator's screen. A backslash that was there already stays as it is.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => NAMED[character] ?? escaped(character));
}

/** As `visible`, but line breaks stay line breaks; `\r\n` is one, a lone `\r` a blank, as in cliff. */
export function visibleLines(text: string): readonly string[] {
  return text.replaceAll("\r\n", "\n").replaceAll("\r", " ").split("\n").map(visible);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}
