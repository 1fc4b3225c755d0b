import { displayWidth, visible } from "./text.ts";

export const EXAMPLES = 3;

/** Rows of a list that fit on a screen; more are told by causes. */
export const SCREENFUL = 20;

/** Lines that groups take at most: with what stands around them they fit on a page of 60. */
const MOST = 40;

/** Causes that are told apart; what is met after so many is counted with the rest. */
const CAUSES = 1000;

/** Columns by which people know a machine: those that a list has of them. */
export const IDENTITY: readonly string[] = [
  ...["UUID", "Name", "BMC", "Address", "Service Host", "Host", "Instance"],
];

interface Group {
  readonly cause: string;
  readonly examples: (readonly string[])[];
  count: number;
}

interface Gathered {
  readonly groups: () => readonly Group[];
  readonly rest: () => number;
}

/** Things gathered by cause, each with its first examples: memory does not grow with the fleet. */
export function gatherGroups() {
  const groups = new Map<string, Group>();
  let rest = 0;
  return {
    add(cause: string, example: readonly string[]): void {
      let group = groups.get(cause);
      if (group === undefined) {
        if (groups.size === CAUSES) {
          rest += 1;
          return;
        }
        group = { cause, examples: [], count: 0 };
        groups.set(cause, group);
      }
      group.count += 1;
      if (group.examples.length < EXAMPLES) group.examples.push(example);
    },
    groups: (): readonly Group[] =>
      [...groups.values()].toSorted((one, other) => other.count - one.count),
    rest: () => rest,
  };
}

/**
 * Groups as lines: a count and a cause, below it three examples in aligned columns. Where that were more
 * than a page, fewer examples, and what is left is counted: the counts are those of all. Columns that do not fit on the screen are left out, the last first.
 *
 * @param width columns of the screen; undefined for no limit
 * @param most lines they may take
 */
export function groupLines(
  gathered: Gathered,
  width: number | undefined,
  most = MOST,
): readonly string[] {
  const groups = gathered.groups();
  const linesWith = (examples: number): number =>
    groups.reduce((sum, { count }) => sum + 1 + Math.min(count, examples), 0);
  let examples = EXAMPLES;
  while (examples > 0 && linesWith(examples) > most) examples -= 1;
  const shown = groups.slice(0, most);
  const draw = drawer(
    shown.flatMap((group) => group.examples),
    width,
  );
  const more = groups.slice(most).reduce((sum, { count }) => sum + count, gathered.rest());
  const digits = Math.max(
    ...shown.map(({ count }) => String(count).length),
    String(more).length,
    6,
  );
  const lines = shown.flatMap((group) => [
    `  ${String(group.count).padStart(digits)}  ${visible(group.cause)}`,
    ...group.examples.slice(0, examples).map(draw),
  ]);
  return more === 0 ? lines : [...lines, `  ${String(more).padStart(digits)}  of other causes`];
}

/** Little: with it uuid, name, address and host fit on 80 columns. */
const INDENT = "    ";

/** Draws examples below each other, in columns as wide as the widest of them all. */
export function drawer(
  all: readonly (readonly string[])[],
  width: number | undefined,
): (cells: readonly string[]) => string {
  const widths = columnWidths(all);
  return (cells) => exampleLine(cells, widths, width);
}

function exampleLine(
  cells: readonly string[],
  widths: readonly number[],
  limit: number | undefined,
): string {
  let line = "";
  for (const [at, cell] of cells.entries()) {
    const text = visible(cell);
    const next = `${line}${line === "" ? INDENT : "  "}${text}`;
    if (limit !== undefined && at > 0 && displayWidth(next.trimEnd()) > limit) break;
    line = next + " ".repeat(Math.max(0, (widths[at] ?? 0) - displayWidth(text)));
  }
  return line.trimEnd();
}

function columnWidths(rows: readonly (readonly string[])[]): readonly number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries())
      widths[at] = Math.max(widths[at] ?? 0, displayWidth(visible(cell)));
  return widths;
}
