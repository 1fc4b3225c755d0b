import type { Knex } from "knex";
import { grouped } from "../../model/grouped.ts";
import type { Json } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import type { NovaStep, RowState } from "../../model/nova-plan.ts";
import { deletedNumber } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { boolean, integer, plain, type RawRow } from "../database/rows.ts";
import { conflicts } from "./constraint-conflicts.ts";

/** A step and the row it speaks of; null when there is none. */
export interface ObservedRow {
  readonly step: NovaStep;
  readonly row: RawRow | null;
  /** Why it must not be written though it is as before; absent where it may. */
  readonly conflict?: string;
}

/** Reads the rows of steps, in the order of the steps of each table. */
export async function observe(
  database: Database,
  on: Knex,
  steps: readonly NovaStep[],
  lock: boolean,
): Promise<readonly ObservedRow[]> {
  const { engine, run } = database;
  const observed: ObservedRow[] = [];
  for (const [table, some] of grouped(steps, ({ table }) => table)) {
    const columns = columnsOf(some);
    const ask = (narrow: (query: Knex.QueryBuilder) => Knex.QueryBuilder) =>
      run(`reading ${table}`, async (): Promise<readonly RawRow[]> => {
        const query = narrow(on(table).select(...columns));
        return lock && engine !== "sqlite" ? query.forUpdate() : query;
      });
    const ids = some.flatMap(({ key }) => (typeof key.id === "number" ? [key.id] : []));
    const rows = ids.length === 0 ? [] : await ask((query) => query.whereIn("id", ids));
    const byId = new Map(rows.map((row) => [integer(row.id), row]));
    const bars = await conflicts(database, on, some);
    for (const step of some) {
      const row = await rowOf(step, byId, (key) => ask((query) => query.where(key)));
      const why = bars.get(step.id);
      observed.push({ step, row, ...(why !== undefined && { conflict: why }) });
    }
  }
  return observed;
}

async function rowOf(
  { key }: NovaStep,
  byId: ReadonlyMap<number | null, RawRow>,
  ask: (key: object) => Promise<readonly RawRow[]>,
): Promise<RawRow | null> {
  if (typeof key.id === "number") return byId.get(key.id) ?? null;
  return (await ask(key))[0] ?? null;
}

/** How the row of a step stands. */
export function rowStateOf({ step, row, conflict }: ObservedRow): RowState {
  const { id, before, after } = step;
  const as = (is: RowState["is"], why = "", fields?: readonly string[]): RowState => ({
    ...{ id, is, why },
    ...(fields !== undefined && { fields }),
  });
  if (row === null) {
    if (after === null) return as("after");
    return before === null ? as("before") : as("other", "the row is gone");
  }
  const from = before === null ? ["row"] : differing(before, row);
  const to = after === null ? ["row"] : differing(after, row);
  if (to.length === 0) return as("after");
  if (from.length === 0)
    return conflict === undefined ? as("before", "", to) : as("other", conflict, to);
  const what = before === null ? "is there and differs in" : "was changed since in";
  return as("other", `${what} ${(before === null ? to : from).join(", ")}`, to);
}

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
function differing(want: Row, raw: RawRow): readonly string[] {
  return Object.entries(want)
    .filter(([column, value]) => novaValue(column, raw[column]) !== value)
    .map(([column]) => column);
}

/** Every column some step of a table speaks of. */
function columnsOf(steps: readonly NovaStep[]): readonly string[] {
  return [
    ...new Set(
      steps.flatMap(({ key, before, after }) => [
        "id",
        ...[key, before ?? {}, after ?? {}].flatMap(Object.keys),
      ]),
    ),
  ];
}
