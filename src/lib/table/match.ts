import { MigrationError } from "../error.ts";
import { grouped } from "../grouped.ts";
import type { Json } from "../json.ts";
import { cellText } from "./data.ts";
import { didYouMean, nearest } from "./nearest.ts";

/**
 * Filters rows. Patterns of one column are alternatives, and all columns must match. A cell with
 * several words, such as finding codes, matches if one word does.
 * @param words `COLUMN=VALUE`: not case-sensitive, `*` is any text, `D600` is N2I-D600
 * @throws MigrationError N2I-E100 for an unknown column, with the nearest name
 */
export function matching(
  columns: readonly string[],
  words: readonly string[],
): (row: readonly Json[]) => boolean {
  const wanted = grouped(
    words.map((word) => parsedMatch(columns, word)),
    ({ at }) => at,
  );
  return (row) =>
    [...wanted].every(([at, alternatives]) => {
      const cell = row[at] ?? null;
      const text = cellText(cell);
      const parts = cell === null ? [text, ""] : [text, ...text.split(/[\s,;]+/)];
      return alternatives.some(({ pattern }) => parts.some((part) => pattern.test(part)));
    });
}

function parsedMatch(columns: readonly string[], word: string) {
  const end = word.indexOf("=");
  if (end < 1)
    throw new MigrationError("N2I-E100", `--match requires COLUMN=VALUE, not ${word}`, {
      fix: `Specify one of these columns: ${columns.join(", ")}.`,
    });
  const at = columnOf(columns, word.slice(0, end).trim());
  return { at, pattern: patternOf(word.slice(end + 1).trim()) };
}

/** A column by its name, or by a word that only one column has: `host` is `Service Host`. */
function columnOf(columns: readonly string[], name: string): number {
  const lower = columns.map((column) => column.toLowerCase());
  const wanted = name.toLowerCase();
  const whole = lower.indexOf(wanted);
  if (whole >= 0) return whole;
  const having = [...lower.keys()].filter((at) =>
    lower[at]?.split(" ").some((word) => word === wanted || word === `${wanted}s`),
  );
  const [only] = having;
  if (only !== undefined && having.length === 1) return only;
  const near =
    having.length > 1
      ? having.map((at) => columns[at] ?? "")
      : nearest(wanted, lower).map((one) => columns[lower.indexOf(one)] ?? "");
  throw new MigrationError("N2I-E100", `there is no column ${JSON.stringify(name)} to match`, {
    fix: `${didYouMean(near)}Choose from these columns: ${columns.join(", ")}.`,
  });
}

function patternOf(value: string): RegExp {
  const whole = /^[ed]\d{3}$/i.test(value) ? `N2I-${value}` : value;
  const parts = whole.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "is");
}
