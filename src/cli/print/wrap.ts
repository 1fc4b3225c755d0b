import { displayWidth, takeWidth } from "./width.ts";

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
