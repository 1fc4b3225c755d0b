import { cellText, type Rows } from "./data.ts";
import { displayWidth, visibleLines, wrap } from "./text.ts";

/** Rows measured before the first is printed. Later rows are wrapped into the same widths. */
const ROWS_MEASURED = 5000;

interface GridShape {
  /** Columns of the screen. Undefined for no limit. */
  readonly limit: number | undefined;
  /** Minimum width of a column. A table with many columns exceeds the limit. */
  readonly narrowest: number;
  readonly printEmpty: boolean;
  /** Align a column right if its first row has a number. */
  readonly alignNumbers: boolean;
  readonly paint?: (column: string, padded: string) => string;
}

/**
 * A table as PrettyTable draws it for OpenStack's clients. Line breaks in a cell start new lines of
 * the row. Without rows it prints one empty line, unless the header is requested.
 * @source openstack/cliff, cliff/formatters/table.py; prettytable 3, _compute_widths,
 *   _stringify_row
 */
export async function* asGrid(
  columns: readonly string[],
  rows: Rows,
  shape: GridShape,
): AsyncIterable<string> {
  const head = columns.map((name) => visibleLines(name).join(" "));
  const measured: (readonly Cell[])[] = [];
  let right: readonly boolean[] = [];
  let draw: ReturnType<typeof pen> | undefined;
  for await (const row of rows) {
    if (measured.length === 0)
      right = row.map((value) => shape.alignNumbers && typeof value === "number");
    const cells = columns.map((_, at) => visibleLines(short(cellText(row[at] ?? null))));
    if (draw !== undefined) yield draw.row(cells);
    else if (measured.push(cells) === ROWS_MEASURED) {
      draw = pen(head, measured, right, shape);
      yield begin(draw, head, measured);
    }
  }
  if (draw !== undefined) yield draw.rule;
  else if (measured.length === 0 && !shape.printEmpty) yield "\n";
  else {
    const last = pen(head, measured, right, shape);
    yield begin(last, head, measured) + last.rule;
  }
}

type Cell = readonly string[];

/** Maximum characters of a cell. A table pads every other row to the longest cell. */
const LONGEST = 4000;

function short(text: string): string {
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST)}... (${text.length} characters; -f json has all)`;
}

function begin(
  { rule, row }: ReturnType<typeof pen>,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
) {
  return rule + row(head.map((name) => [name])) + rule + rows.map(row).join("");
}

function pen(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  right: readonly boolean[],
  shape: GridShape,
) {
  const widths = widthsOf(head, rows, shape);
  const { paint = (_: string, padded: string) => padded } = shape;
  return {
    rule: `+${widths.map((width) => "-".repeat(width + 2)).join("+")}+\n`,
    row(cells: readonly Cell[]): string {
      const wrapped = widths.map((width, at) =>
        (cells[at] ?? [""]).flatMap((line) => wrap(line, width)),
      );
      const height = Math.max(...wrapped.map((lines) => lines.length));
      let text = "";
      for (let line = 0; line < height; line++) {
        const parts = widths.map((width, at) =>
          paint(head[at] ?? "", pad(wrapped[at]?.[line] ?? "", width, right[at] === true)),
        );
        text += `| ${parts.join(" | ")} |\n`;
      }
      return text;
    },
  };
}

function pad(text: string, width: number, right: boolean): string {
  const blanks = " ".repeat(Math.max(0, width - displayWidth(text)));
  return right ? blanks + text : text + blanks;
}

/** Width of the widest cell. Above the limit, wide columns share the remaining space. */
function widthsOf(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { limit, narrowest }: GridShape,
): readonly number[] {
  const heads = head.map(displayWidth);
  const natural = [...heads];
  for (const row of rows)
    for (const [at, lines] of row.entries())
      for (const line of lines) natural[at] = Math.max(natural[at] ?? 0, displayWidth(line));
  const total = natural.reduce((sum, width) => sum + width + 3, 1);
  if (limit === undefined || total <= limit) return natural;

  const usable = Math.max(0, limit - 1 - 3 * head.length);
  const fair = Math.floor(usable / head.length);
  const wide = [...natural.keys()].filter((at) => (natural[at] ?? 0) > fair);
  let remaining = natural.reduce((rest, width) => (width > fair ? rest : rest - width), usable);
  const share = Math.floor(remaining / wide.length);
  const widths = [...natural];
  for (const at of wide) {
    const most = Math.max(narrowest, at === wide.at(-1) ? remaining : share);
    remaining -= share;
    widths[at] = Math.max(heads[at] ?? 0, Math.min(natural[at] ?? 0, most));
  }
  return widths;
}
