import { displayWidth } from "./text.ts";

/** What is copied to a command line stays in one piece: a terminal that breaks it copies it whole. */
const COPIED = /nova2ironic \w|^umask |^(Next|then|Undo|All|Saved|Connections|Fix): /;

/**
 * A line in lines of at most `width` columns, broken at blanks; later ones stand two columns further in. A
 * word longer than a line stays whole, and so does a line that holds a command.
 */
export function fold(line: string, width: number): readonly string[] {
  if (displayWidth(line) <= width || COPIED.test(line)) return [line];
  const [indent = ""] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let current = indent;
  let empty = true;
  // Blanks between columns stay as they are, unless a line ends there.
  for (const [, blanks = "", word = ""] of line.slice(indent.length).matchAll(/( *)([^ ]+)/g)) {
    const next = current + (empty ? "" : blanks) + word;
    if (!empty && displayWidth(next) > width) {
      lines.push(current);
      current = `${indent}  ${word}`;
    } else current = next;
    empty = false;
  }
  return [...lines, current];
}

/** The same of each line of a text; unchanged where no width is known. */
export function foldText(text: string, width: number | undefined): string {
  if (width === undefined) return text;
  return text
    .split("\n")
    .flatMap((line) => fold(line, width))
    .join("\n");
}
