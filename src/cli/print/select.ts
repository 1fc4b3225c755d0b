import { MigrationError } from "../../model/error.ts";
import type { Json } from "../../model/json.ts";
import type { FormatOptions } from "./options.ts";

interface Selected {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<readonly Json[]>;
}

/**
 * The rows sorted and cut down as the options ask. A column to sort by need not be shown.
 *
 * @throws MigrationError N2I-E100 when a column does not exist
 */
export function select(
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]>,
  { column = [], sortColumn = [] }: FormatOptions,
): Selected {
  const keys = positions(columns, sortColumn);
  const shown = column.length === 0 ? columns.keys() : positions(columns, column);
  const chosen = [...shown];
  const sorted = keys.length === 0 ? rows : sortedBy(keys, rows);
  return { columns: chosen.map((at) => columns[at] ?? ""), rows: pick(chosen, sorted) };
}

/** Where the wanted columns stand, each once. */
export function positions(
  columns: readonly string[],
  wanted: readonly string[],
): readonly number[] {
  const found = [...new Set(wanted)].map((name) => ({ name, at: columns.indexOf(name) }));
  const unknown = found.filter(({ at }) => at < 0).map(({ name }) => `'${name}'`);
  if (unknown.length > 0)
    throw new MigrationError("N2I-E100", `there is no column ${unknown.join(", ")}`, {
      fix: `Choose from these columns: ${columns.join(", ")}.`,
    });
  return found.map(({ at }) => at);
}

async function* pick(
  chosen: readonly number[],
  rows: AsyncIterable<readonly Json[]>,
): AsyncIterable<readonly Json[]> {
  for await (const row of rows) yield chosen.map((at) => row[at] ?? null);
}

/** Holds every row: the one way of printing whose memory grows with their number. */
async function* sortedBy(
  keys: readonly number[],
  rows: AsyncIterable<readonly Json[]>,
): AsyncIterable<readonly Json[]> {
  const held: (readonly Json[])[] = [];
  for await (const row of rows) held.push(row);
  held.sort((left, right) => {
    for (const key of keys) {
      const order = compare(left[key] ?? null, right[key] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  });
  yield* held;
}

/** Numbers by size, then text by code unit; nothing at all comes last, as in cliff. */
function compare(left: Json, right: Json): number {
  if (rank(left) !== rank(right)) return rank(left) - rank(right);
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [one, other] = [sortText(left), sortText(right)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function rank(value: Json): number {
  if (value === null) return 3;
  return typeof value === "number" ? 0 : typeof value === "boolean" ? 1 : 2;
}

function sortText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
