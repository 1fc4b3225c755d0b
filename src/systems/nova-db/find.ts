import type { Knex } from "knex";
import { grouped } from "../../lib/grouped.ts";
import type { Json } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import type { NovaStep, RowState } from "../../model/nova/nova-plan.ts";
import { deletedNumber } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { read } from "../database/read.ts";
import {
  boolean,
  integer,
  keyed,
  marks,
  number,
  plain,
  type RawRow,
  string,
  text,
} from "../database/rows.ts";

export interface ObservedRow {
  readonly step: NovaStep;
  readonly row: RawRow | null;
  /** Why the row must not be changed although it is as planned. */
  readonly conflict?: string;
}

/** Rows in the order of the steps of each table. */
export async function observe(database: Database, steps: readonly NovaStep[], lock: boolean) {
  const { engine, knex, run } = database;
  const observed: ObservedRow[] = [];
  for (const [table, some] of grouped(steps, ({ table }) => table)) {
    const columns = columnsOf(some);
    const ask = (
      from: string | Knex.Raw,
      narrow: (query: Knex.QueryBuilder) => Knex.QueryBuilder,
    ): Promise<readonly RawRow[]> =>
      run(`reading ${table}`, async () => {
        const query = narrow(knex(from).select(...columns));
        return lock && engine !== "sqlite" ? query.forUpdate() : query;
      });
    const ids = some.flatMap(({ key }) => (typeof key.id === "number" ? [key.id] : []));
    const from = knex.raw(await keyed(database, `{${table}.id}`));
    const rows = ids.length === 0 ? [] : await ask(from, (query) => query.whereIn("id", ids));
    const byId = new Map(rows.map((row) => [integer(row.id), row]));
    const bars = new Map([
      ...(await conflictingSpecs(database, some)),
      ...(await conflictingComputes(database, some)),
    ]);
    for (const step of some) {
      const { key } = step;
      const [row = null] =
        typeof key.id === "number"
          ? [byId.get(key.id)]
          : await ask(table, (query) => query.where(key));
      const reason = bars.get(step.id);
      observed.push({ step, row, ...(reason !== undefined && { conflict: reason }) });
    }
  }
  return observed;
}

export function rowStateOf({ step, row, conflict }: ObservedRow): RowState {
  const { id, before, after } = step;
  const as = (is: RowState["is"], reason = "", fields?: readonly string[]): RowState => ({
    ...{ id, is, reason },
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
  const what = before === null ? "exists and differs in" : "has changed since in";
  return as("other", `${what} ${(before === null ? to : from).join(", ")}`, to);
}

const NUMBERS: ReadonlySet<string> = new Set([
  ...["id", "service_id", "aggregate_id", "instance_type_id", "flavor_id", "compute_id"],
]);
const BOOLEANS: ReadonlySet<string> = new Set(["disabled", "forced_down", "locked"]);

/** The value in a plan, which is the same for every engine. */
function novaValue(column: string, value: unknown): Json {
  if (column === "deleted") return deletedNumber(value);
  if (NUMBERS.has(column)) return integer(value);
  return BOOLEANS.has(column) ? boolean(value) : plain(value);
}

function differing(planned: Row, raw: RawRow): readonly string[] {
  return Object.entries(planned)
    .filter(([column, value]) => novaValue(column, raw[column]) !== value)
    .map(([column]) => column);
}

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

const SPECS = "instance_type_extra_specs";

const COMPUTES = "compute_nodes";

/**
 * A unique key since Kilo would fail the whole batch if another live row has the host and node.
 *
 * @source facts/nova-bm.md 5.1
 */
async function conflictingComputes(database: Database, steps: readonly NovaStep[]) {
  const placed = steps.flatMap(({ id, table, after }) => {
    const lives = table === COMPUTES && after?.deleted === 0;
    const host = lives && typeof after.host === "string" ? after.host : null;
    const node = lives ? after.hypervisor_hostname : null;
    return host === null || typeof node !== "string" ? [] : [{ id, host, node }];
  });
  const reasons = new Map<string, string>();
  if (placed.length === 0) return reasons;
  const hosts = [...new Set(placed.map(({ host }) => host))];
  const nodes = placed.map(({ node }) => node);
  const fields = { id: number, host: text, hypervisor_hostname: text };
  const from = `{${COMPUTES}.host} WHERE deleted = 0 AND host IN (${marks(hosts)}) AND hypervisor_hostname IN (${marks(nodes)})`;
  const live = await read(database, fields, from, [...hosts, ...nodes]);
  // Rows of the same steps are checked separately.
  const stepIds = new Set(steps.flatMap(({ table, key }) => (table === COMPUTES ? [key.id] : [])));
  const foreign = live.filter((row) => !stepIds.has(row.id));
  for (const { id, host, node } of placed) {
    const twin = foreign.find(
      (row) => same(database, row.host, host) && same(database, row.hypervisor_hostname, node),
    );
    if (twin !== undefined)
      reasons.set(id, `live row ${COMPUTES}.id=${twin.id} has its host and node`);
  }
  return reasons;
}

/**
 * A live row may have the key (Nova allows one, enforced since Havana), or the flavor was deleted,
 * which deletes its live specs.
 *
 * @source facts/nova-bm.md 4.3
 */
async function conflictingSpecs(database: Database, steps: readonly NovaStep[]) {
  const back = steps.filter(
    ({ table, before, after }) =>
      table === SPECS && after?.deleted === 0 && before !== null && before.deleted !== 0,
  );
  const reasons = new Map<string, string>();
  if (back.length === 0) return reasons;
  const flavors = [...new Set(back.map(flavorOf))];
  const spec = { id: number, instance_type_id: number, key: text };
  const specs = `${SPECS} WHERE deleted = 0 AND instance_type_id IN (...)`;
  const live = await read(database, spec, specs, flavors);
  const types = "instance_types WHERE deleted <> 0 AND id IN (...)";
  const deleted = await read(database, { id: number, deleted_at: string }, types, flavors);
  for (const step of back) {
    const twin = live.find(
      (row) =>
        row.instance_type_id === flavorOf(step) &&
        row.id !== step.key.id &&
        same(database, row.key, step.before?.key),
    );
    const deletedAt = String(step.before?.deleted_at);
    const since = deleted.some((row) => row.id === flavorOf(step) && row.deleted_at >= deletedAt);
    if (since) reasons.set(step.id, "its flavor was deleted since");
    if (twin !== undefined) reasons.set(step.id, `live row ${SPECS}.id=${twin.id} has its key`);
  }
  return reasons;
}

function flavorOf({ before }: NovaStep): number {
  return Number(before?.instance_type_id);
}

/** MySQL's unique keys ignore case and trailing blanks. */
function same({ engine }: Database, one: string | null, other: unknown): boolean {
  const plain = (text: string): string =>
    engine === "mysql" ? text.trimEnd().toLowerCase() : text;
  return one !== null && plain(one) === plain(String(other));
}
