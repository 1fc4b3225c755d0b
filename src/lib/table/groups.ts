import { displayWidth, visible } from "./text.ts";

export const EXAMPLES = 3;

/** Maximum rows of a complete list. A longer list is grouped by cause. */
export const SCREENFUL = 20;

/** Maximum lines of all groups, so that they fit on a page of 60 with their surroundings. */
const MOST = 40;

/** Maximum number of different causes. Further causes are counted as "other". */
const CAUSES = 1000;

interface Group {
  readonly cause: string;
  readonly examples: (readonly string[])[];
  count: number;
}

/** Keeps only the first examples of each cause, so memory does not grow with the fleet. */
export function gatherGroups() {
  const groups = new Map<string, Group>();
  let rest = 0;
  return {
    add(cause: string, example: readonly string[]): void {
      const group: Group = groups.get(cause) ?? { cause, examples: [], count: 0 };
      if (group.count === 0 && groups.size === CAUSES) {
        rest += 1;
        return;
      }
      groups.set(cause, group);
      group.count += 1;
      if (group.examples.length < EXAMPLES) group.examples.push(example);
    },
    groups: (): readonly Group[] =>
      [...groups.values()].toSorted((one, other) => other.count - one.count),
    rest: () => rest,
  };
}

/**
 * A count and a cause, then up to three examples in aligned columns. More than a page shows fewer
 * examples, and columns beyond the screen width are omitted.
 */
export function groupLines(
  gathered: ReturnType<typeof gatherGroups>,
  width: number | undefined,
): readonly string[] {
  const groups = gathered.groups();
  const linesWith = (examples: number): number =>
    groups.reduce((sum, { count }) => sum + 1 + Math.min(count, examples), 0);
  let examples = EXAMPLES;
  while (examples > 0 && linesWith(examples) > MOST) examples -= 1;
  const listed = groups.slice(0, MOST);
  const draw = drawer(
    listed.flatMap((group) => group.examples),
    width,
  );
  const more = groups.slice(MOST).reduce((sum, { count }) => sum + count, gathered.rest());
  const digits = Math.max(
    ...listed.map(({ count }) => String(count).length),
    String(more).length,
    6,
  );
  const lines = listed.flatMap((group) => [
    `  ${String(group.count).padStart(digits)}  ${visible(group.cause)}`,
    ...group.examples.slice(0, examples).map(draw),
  ]);
  return more === 0 ? lines : [...lines, `  ${String(more).padStart(digits)}  with other causes`];
}

/** Narrow, so that uuid, name, address and host fit on 80 columns. */
const INDENT = "    ";

export function drawer(
  all: readonly (readonly string[])[],
  width: number | undefined,
): (cells: readonly string[]) => string {
  const widths: number[] = [];
  for (const row of all)
    for (const [at, cell] of row.entries())
      widths[at] = Math.max(widths[at] ?? 0, displayWidth(visible(cell)));
  return (cells) => {
    let line = "";
    for (const [at, cell] of cells.entries()) {
      const text = visible(cell);
      const next = `${line}${line === "" ? INDENT : "  "}${text}`;
      if (width !== undefined && at > 0 && displayWidth(next.trimEnd()) > width) break;
      line = next + " ".repeat(Math.max(0, (widths[at] ?? 0) - displayWidth(text)));
    }
    return line.trimEnd();
  };
}
