import type { Left } from "../model/change.ts";
import type { Json } from "../model/json.ts";
import type { FormatOptions } from "./format.ts";
import { matching } from "./match.ts";
import { positions, type View } from "./table.ts";

const COLUMNS = ["Row", "Why it is left"];

/**
 * What a rollback leaves in place, gathered over all its parts for one list.
 *
 * @throws MigrationError N2I-E100 when a column of the options does not exist, before anything is done
 */
export function gatherLeft(options: FormatOptions) {
  positions(COLUMNS, [...(options.column ?? []), ...(options.sortColumn ?? [])]);
  matching(COLUMNS, options.match ?? []);
  const rows: (readonly Json[])[] = [];
  return {
    add(more: readonly Left[]): void {
      for (const { id, why } of more) rows.push([id, why]);
    },
    any: () => rows.length > 0,
    /** One document in the forms for programs, empty or not; null: people are shown no empty table. */
    view: (): View | null =>
      rows.length > 0 || options.format !== "table" || options.printEmpty === true
        ? { columns: COLUMNS, rows, causes: ["Why it is left"] }
        : null,
  };
}
