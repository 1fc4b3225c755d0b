import { UNSEEN } from "../text.ts";

/** Two columns of a terminal: East Asian wide and full-width blocks. @source Unicode EastAsianWidth */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x20000, 0x3fffd],
];

/** How many columns of a terminal the text takes. Escapes are expected to be written out already. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The longest beginning of the text that fits. */
export function takeWidth(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width) break;
    taken += character;
  }
  return taken;
}

function characterWidth(character: string): 0 | 1 | 2 {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (/^[\p{Mn}\p{Me}\p{Cf}]$/u.test(character)) return 0;
  if (WIDE.some(([from, to]) => from <= code && code <= to)) return 2;
  return /^\p{Emoji_Presentation}$/u.test(character) ? 2 : 1;
}

/**
 * A line's unbreakable pieces: blanks, words, and the halves of hyphenated words.
 *
 * @source CPython 3.11, Lib/textwrap.py, TextWrapper.wordsep_re, which PrettyTable wraps with
 */
const PIECE =
  /\s+|(?<=[\p{L}\p{N}_!"'&.,?])-{2,}(?=[\p{L}\p{N}_])|\S+?(?:-(?:(?<=[\p{L}_]{2}-)|(?<=[\p{L}_]-[\p{L}_]-))(?=[\p{L}_]-?[\p{L}_])|(?=\s|$)|(?<=[\p{L}\p{N}_!"'&.,?])(?=-{2,}[\p{L}\p{N}_]))/gu;

/** The line in lines of at most `width` columns, broken where PrettyTable breaks it; at least one. */
export function wrap(line: string, width: number): readonly string[] {
  if (displayWidth(line) <= width) return [line];
  const pieces = (line.match(PIECE) ?? []).reverse();
  const lines: string[] = [];
  while (pieces.length > 0) {
    if (lines.length > 0 && isBlank(pieces.at(-1))) pieces.pop();
    const taken = takeLine(pieces, width);
    if (isBlank(taken.at(-1))) taken.pop();
    if (taken.length > 0) lines.push(taken.join(""));
  }
  return lines.length === 0 ? [""] : lines;
}

/** Takes the next line's pieces off the end of `pieces`, which stands in reverse. */
function takeLine(pieces: string[], width: number): string[] {
  const taken: string[] = [];
  let used = 0;
  for (let next = pieces.at(-1); next !== undefined; next = pieces.at(-1)) {
    const size = displayWidth(next);
    if (used + size > width) break;
    taken.push(next);
    used += size;
    pieces.pop();
  }
  const next = pieces.at(-1);
  if (next !== undefined && displayWidth(next) > width) {
    const part = partOf(next, width - used);
    // A character wider than the whole line is taken all the same: the loop must end.
    const some = part === "" && used === 0 ? takeWidth(next, 2) : part;
    if (some !== "") taken.push(some);
    pieces[pieces.length - 1] = next.slice(some.length);
  }
  return taken;
}

/** A word longer than a line is cut after its last hyphen that fits, or else where the line ends. */
function partOf(word: string, space: number): string {
  const part = takeWidth(word, space);
  const hyphen = part.lastIndexOf("-");
  return /[^-]/.test(part.slice(0, Math.max(hyphen, 0))) ? part.slice(0, hyphen + 1) : part;
}

function isBlank(piece: string | undefined): boolean {
  return piece !== undefined && piece.trim() === "";
}

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
