import type { Json } from "../../lib/json.ts";
import type { FormatOptions } from "../../lib/table/format.ts";
import { matching } from "../../lib/table/match.ts";
import { positions, type View } from "../../lib/table/table.ts";
import type { SkippedRow } from "../../model/change.ts";

export const SKIPPED_ROWS = ["Row", "Reason"];

/** @throws MigrationError N2I-E100 for an unknown column, before anything is changed */
export function gatherSkipped(options: FormatOptions) {
  positions(SKIPPED_ROWS, [...(options.column ?? []), ...(options.sortColumn ?? [])]);
  matching(SKIPPED_ROWS, options.match ?? []);
  const lists: (readonly SkippedRow[])[] = [];
  let any = false;
  function* rows(): Generator<readonly Json[]> {
    for (const list of lists) for (const { id, reason } of list) yield [id, reason];
  }
  return {
    add(more: readonly SkippedRow[]): void {
      any ||= more.length > 0;
      lists.push(more);
    },
    any: () => any,
    /** Programs always get a document. People get no empty table (null). */
    view: (): View | null =>
      any || options.format !== "table" || options.printEmpty === true
        ? { columns: SKIPPED_ROWS, rows: rows(), causes: ["Reason"] }
        : null,
  };
}
