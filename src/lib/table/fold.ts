import { displayWidth } from "./text.ts";

/** Lines to be copied are not folded. A terminal that wraps a line copies it as one. */
const COPIED = /nova2ironic \w|^umask |^(Next|then|Undo|All|Saved|Connections|Fix): /;

/**
 * Breaks a line at blanks into lines of at most `width` columns. Later lines have two more columns
 * of indentation. A longer word and a line with a command stay in one piece.
 */
export function fold(line: string, width: number): readonly string[] {
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

/** Unchanged if the width is unknown. */
export function foldText(text: string, width: number | undefined): string {
  if (width === undefined) return text;
  return text
    .split("\n")
    .flatMap((line) => fold(line, width))
    .join("\n");
}
