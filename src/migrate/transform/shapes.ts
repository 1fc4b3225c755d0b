import type { Json } from "../../lib/json.ts";

/** A position in a column order, with the columns that followed it. */
interface Step {
  readonly column: number;
  readonly next: Step[];
  /** All columns of the order, NULL, created for the first row. */
  row?: Record<string, Json>;
}

/**
 * Makes rows from values by column number, in the order of the columns. A table has few orders, so rows are copied from a template. Objects that grow beyond a
 * dozen fields become hash tables, which are slower to create and to write as JSON.
 */
export function createShapes(columns: readonly string[]) {
  const first: Step = { column: -1, next: [] };
  return (
    values: readonly (Json | undefined)[],
    order: readonly number[],
  ): Record<string, Json> => {
    let step = first;
    for (const column of order) step = stepTo(step, column);
    step.row ??= emptyRow(order.map((column) => columns[column] ?? ""));
    const row = { ...step.row };
    for (const column of order) row[columns[column] ?? ""] = values[column] ?? null;
    return row;
  };
}

function stepTo({ next }: Step, column: number): Step {
  for (const step of next) if (step.column === column) return step;
  const made: Step = { column, next: [] };
  next.push(made);
  return made;
}

/** JSON.parse allocates all fields at once. */
function emptyRow(columns: readonly string[]): Record<string, Json> {
  return JSON.parse(`{${columns.map((name) => `${JSON.stringify(name)}:null`).join()}}`);
}
