import type { FormatOptions } from "../../lib/table/format.ts";
import { matching } from "../../lib/table/match.ts";

export function hasMatched(columns: readonly string[], condition: string): boolean {
  try {
    matching(columns, [condition]);
    return true;
  } catch {
    return false;
  }
}

/** Drops options for another list, which must not stop the command after its changes. */
export function optionsFor<T extends FormatOptions>(
  columns: readonly string[],
  options: T,
): { readonly options: T; readonly without: readonly string[] } {
  const { match = [], column = [], sortColumn = [] } = options;
  const has = (name: string): boolean => columns.includes(name);
  const takes = (condition: string): boolean => hasMatched(columns, condition);
  const without = [
    ...match.filter((condition) => !takes(condition)).map((condition) => `--match ${condition}`),
    ...column.filter((name) => !has(name)).map((name) => `-c ${name}`),
    ...sortColumn.filter((name) => !has(name)).map((name) => `--sort-column ${name}`),
  ];
  if (without.length === 0) return { options, without };
  const adjusted = {
    match: match.filter(takes),
    column: column.filter(has),
    sortColumn: sortColumn.filter(has),
  };
  return { options: { ...options, ...adjusted }, without };
}
