import type { Json } from "../../lib/json.ts";

/** Makes rows of values by the number of their column, in the order in which these were given. */
export type Shapes = ReturnType<typeof createShapes>;

/** Where an order has come to: what followed there before. */
interface Step {
  readonly column: number;
  readonly next: Step[];
  /** All columns up to here, NULL; made when a row ends here. */
  row?: Record<string, Json>;
}

/**
 * The rows of a table have few orders of columns, and a copy of an earlier one has room for all: an object that grows
 * to more than a dozen fields becomes a table of hashes, which takes longer to make and to write as JSON.
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

/** Of JSON, which knows what is to come. */
function emptyRow(columns: readonly string[]): Record<string, Json> {
  return JSON.parse(`{${columns.map((name) => `${JSON.stringify(name)}:null`).join()}}`);
}
