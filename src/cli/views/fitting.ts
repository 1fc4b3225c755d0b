import type { FormatOptions } from "../../lib/table/format.ts";
import { matching } from "../../lib/table/match.ts";

export function hasMatched(columns: readonly string[], word: string): boolean {
  try {
    matching(columns, [word]);
    return true;
  } catch {
    return false;
  }
}

/** The other options are for another list, and must not stop the command after its changes. */
export function fitting<T extends FormatOptions>(
  columns: readonly string[],
  options: T,
): { readonly options: T; readonly without: readonly string[] } {
  const { match = [], column = [], sortColumn = [] } = options;
  const has = (name: string): boolean => columns.includes(name);
  const takes = (word: string): boolean => hasMatched(columns, word);
  const without = [
    ...match.filter((word) => !takes(word)).map((word) => `--match ${word}`),
    ...column.filter((name) => !has(name)).map((name) => `-c ${name}`),
    ...sortColumn.filter((name) => !has(name)).map((name) => `--sort-column ${name}`),
  ];
  if (without.length === 0) return { options, without };
  const own = {
    match: match.filter(takes),
    column: column.filter(has),
    sortColumn: sortColumn.filter(has),
  };
  return { options: { ...options, ...own }, without };
}
