import stringWidth from "string-width";
import { UNSEEN } from "../text.ts";

/** Width of a text in terminal columns. Control characters must be escaped already. */
export const displayWidth: (text: string) => number = stringWidth;

/** The longest prefix that fits. */
export function takeWidth(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const character of text) {
    used += displayWidth(character);
    if (used > width) break;
    taken += character;
  }
  return taken;
}

/**
 * Unbreakable pieces of a line: blanks, words, and halves of hyphenated words.
 * @source CPython 3.11, Lib/textwrap.py, TextWrapper.wordsep_re, which PrettyTable uses
 */
const PIECE =
  /\s+|(?<=[\p{L}\p{N}_!"'&.,?])-{2,}(?=[\p{L}\p{N}_])|\S+?(?:-(?:(?<=[\p{L}_]{2}-)|(?<=[\p{L}_]-[\p{L}_]-))(?=[\p{L}_]-?[\p{L}_])|(?=\s|$)|(?<=[\p{L}\p{N}_!"'&.,?])(?=-{2,}[\p{L}\p{N}_]))/gu;

/** Breaks a line into lines of at most `width` columns, at the places of PrettyTable. */
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

/** Removes the pieces of the next line from the end of `pieces`, which is in reverse order. */
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
    // Take a character that is wider than the line anyway, because the loop must end.
    const some = part === "" && used === 0 ? takeWidth(next, 2) : part;
    if (some !== "") taken.push(some);
    pieces[pieces.length - 1] = next.slice(some.length);
  }
  return taken;
}

/** Splits a word longer than a line after its last hyphen that fits, or at the end of the line. */
function partOf(token: string, space: number): string {
  const part = takeWidth(token, space);
  const hyphen = part.lastIndexOf("-");
  return /[^-]/.test(part.slice(0, Math.max(hyphen, 0))) ? part.slice(0, hyphen + 1) : part;
}

function isBlank(piece: string | undefined): boolean {
  return piece !== undefined && piece.trim() === "";
}

const ESCAPES: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Escapes control characters, so that a database row cannot change the operator's screen. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => ESCAPES[character] ?? escaped(character));
}

/** As above, but keeps line breaks. `\r\n` is one line break, a lone `\r` a blank, as in cliff. */
export function visibleLines(text: string): readonly string[] {
  return text.replaceAll("\r\n", "\n").replaceAll("\r", " ").split("\n").map(visible);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Lines to be copied are not folded. A terminal that wraps a line copies it as one. */
const COPIED = /nova2ironic \w|^umask |^(Next|then|Undo|All|Saved|Connections|Fix): /;

function fold(line: string, width: number): readonly string[] {
  if (displayWidth(line) <= width || COPIED.test(line)) return [line];
  const [indent = ""] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let current = indent;
  let empty = true;
  // Blanks between columns are kept, unless a line ends there.
  for (const [, blanks = "", token = ""] of line.slice(indent.length).matchAll(/( *)([^ ]+)/g)) {
    const next = current + (empty ? "" : blanks) + token;
    if (!empty && displayWidth(next) > width) {
      lines.push(current);
      current = `${indent}  ${token}`;
    } else current = next;
    empty = false;
  }
  return [...lines, current];
}

/**
 * Breaks lines at blanks into lines of at most `width` columns. Later lines have two more columns
 * of indentation. A longer word and a line with a command stay in one piece.
 */
export function foldText(text: string, width: number | undefined): string {
  if (width === undefined) return text;
  return text
    .split("\n")
    .flatMap((line) => fold(line, width))
    .join("\n");
}
