import { MigrationError } from "../error.ts";
import { grouped } from "../grouped.ts";
import type { Json } from "../json.ts";
import { cellText } from "./data.ts";

/**
 * Filters rows. Patterns of one column are alternatives, and all columns must match. A cell with
 * several words, such as finding codes, matches if one word does.
 * @param conditions `COLUMN=VALUE`: not case-sensitive, `*` is any text, `D600` is N2I-D600
 * @throws MigrationError N2I-E100 for an unknown column, with the nearest name
 */
export function matching(
  columns: readonly string[],
  conditions: readonly string[],
): (row: readonly Json[]) => boolean {
  const criteria = grouped(
    conditions.map((condition) => {
      const end = condition.indexOf("=");
      if (end < 1)
        throw new MigrationError("N2I-E100", `--match requires COLUMN=VALUE, not ${condition}`, {
          fix: `Specify one of these columns: ${columns.join(", ")}.`,
        });
      const at = columnOf(columns, condition.slice(0, end).trim());
      return { at, pattern: patternOf(condition.slice(end + 1).trim()) };
    }),
    ({ at }) => at,
  );
  return (row) =>
    [...criteria].every(([at, alternatives]) => {
      const cell = row[at] ?? null;
      const text = cellText(cell);
      const parts = cell === null ? [text, ""] : [text, ...text.split(/[\s,;]+/)];
      return alternatives.some(({ pattern }) => parts.some((part) => pattern.test(part)));
    });
}

/** A column by its name, or by a word that only one column has: `host` is `Service Host`. */
function columnOf(columns: readonly string[], name: string): number {
  const lower = columns.map((column) => column.toLowerCase());
  const lowerName = name.toLowerCase();
  const exact = lower.indexOf(lowerName);
  if (exact >= 0) return exact;
  const having = [...lower.keys()].filter((at) =>
    lower[at]?.split(" ").some((part) => part === lowerName || part === `${lowerName}s`),
  );
  const [only] = having;
  if (only !== undefined && having.length === 1) return only;
  const near =
    having.length > 1
      ? having.map((at) => columns[at] ?? "")
      : nearest(lowerName, lower).map((one) => columns[lower.indexOf(one)] ?? "");
  throw new MigrationError("N2I-E100", `there is no column ${JSON.stringify(name)} to match`, {
    fix: `${didYouMean(near)}Choose from these columns: ${columns.join(", ")}.`,
  });
}

function patternOf(value: string): RegExp {
  const pattern = /^[ed]\d{3}$/i.test(value) ? `N2I-${value}` : value;
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "is");
}

/** At most three names that differ in one or two characters, the nearest first. */
export function nearest(input: string, names: readonly string[]): readonly string[] {
  return names
    .map((name) => ({ name, distance: distance(input, name) }))
    .filter(({ distance }) => distance <= 2)
    .sort((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** A question to put before a fix. Empty without names. */
export const didYouMean = (near: readonly string[]): string =>
  near.length === 0 ? "" : `Did you mean ${near.join(" or ")}? `;

function distance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (const [row, one] of [...left].entries()) {
    const line = [row + 1];
    for (const [at, other] of [...right].entries()) {
      const changed = (above[at] ?? 0) + (one === other ? 0 : 1);
      line.push(Math.min(changed, (above[at + 1] ?? 0) + 1, (line[at] ?? 0) + 1));
    }
    above = line;
  }
  return above.at(-1) ?? 0;
}
