import type { Json } from "../model/json.ts";
import { cellText } from "./data.ts";
import type { Quote } from "./format.ts";
import { visibleLines } from "./text.ts";

/**
 * Rows as Python's csv.writer writes them for cliff: a quote is doubled, a backslash is escaped
 * with another, None is empty. Characters stay as they are, but on a terminal, which they could repaint.
 *
 * @source openstack/cliff, cliff/formatters/commaseparated.py; CPython 3.11, Modules/_csv.c
 */
export async function* asCsv(
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]>,
  quote: Quote,
  terminal = false,
): AsyncIterable<string> {
  const shown = (line: string): string =>
    terminal ? `${visibleLines(line.slice(0, -1)).join("\n")}\n` : line;
  yield shown(csvLine(columns, quote));
  for await (const row of rows) yield shown(csvLine(row, quote));
}

function csvLine(row: readonly Json[], quote: Quote): string {
  const alone = row.length === 1;
  return `${row.map((value) => field(value, quote, alone)).join(",")}\n`;
}

function field(value: Json, quote: Quote, alone: boolean): string {
  const text = value === null ? "" : cellText(value);
  if (quote === "none") return text.replace(/[",\\\r\n]/g, "\\$&");
  const quoted =
    quote === "all" ||
    (quote === "nonnumeric" && typeof value !== "number" && typeof value !== "boolean") ||
    /[",\r\n]/.test(text) ||
    (alone && text === "");
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '""');
  return quoted ? `"${escaped}"` : escaped;
}
