import type { Json } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import type { NovaStep, NovaTable } from "../../model/nova-plan.ts";
import { deletedNumber } from "../database/deleted.ts";
import { boolean, integer, plain, type RawRow } from "../database/rows.ts";

const NUMBERS: ReadonlySet<string> = new Set([
  ...["id", "service_id", "aggregate_id", "instance_type_id", "flavor_id"],
]);
const BOOLEANS: ReadonlySet<string> = new Set(["disabled"]);

/** A value as a plan holds it: the same from every engine, and the text that was there. */
function novaValue(column: string, value: unknown): Json {
  if (column === "deleted") return deletedNumber(value);
  if (NUMBERS.has(column)) return integer(value);
  return BOOLEANS.has(column) ? boolean(value) : plain(value);
}

/** Columns in which a row is not as it should be. */
export function differing(want: Row, raw: RawRow): readonly string[] {
  return Object.entries(want)
    .filter(([column, value]) => novaValue(column, raw[column]) !== value)
    .map(([column]) => column);
}

/** Every column some step of a table speaks of. */
export function columnsOf(steps: readonly NovaStep[]): readonly string[] {
  return [
    ...new Set(
      steps.flatMap(({ key, before, after }) => [
        "id",
        ...[key, before ?? {}, after ?? {}].flatMap(Object.keys),
      ]),
    ),
  ];
}

/** Steps by their table, in the order they come. */
export function byTable(steps: readonly NovaStep[]): ReadonlyMap<NovaTable, readonly NovaStep[]> {
  const tables = new Map<NovaTable, NovaStep[]>();
  for (const step of steps) {
    const list = tables.get(step.table);
    if (list === undefined) tables.set(step.table, [step]);
    else list.push(step);
  }
  return tables;
}
