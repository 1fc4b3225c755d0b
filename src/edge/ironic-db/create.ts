import { setImmediate as turn } from "node:timers/promises";
import type { Knex } from "knex";
import type { Outcome } from "../../model/change.ts";
import { compareRow, sameSecret } from "../../model/compare.ts";
import { MigrationError } from "../../model/error.ts";
import { staged } from "../../model/handover.ts";
import { isObject } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import type { Step } from "../../model/plan.ts";
import type { Column } from "../../model/tables.ts";
import type { Database } from "../database/open.ts";
import { read } from "../database/read.ts";
import { integer, number, type RawRow, string, text } from "../database/rows.ts";
import { orBehind } from "../database/sequence.ts";
import { encode } from "./codec.ts";
import { type Ironic, isWritten, readRows, toNode, toPort } from "./current.ts";
import { insertTraits, traitsOf } from "./traits.ts";

async function nodeIds(
  { database }: Ironic,
  trx: Knex,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const from = "nodes WHERE uuid IN (...)";
  const rows = await read(database, { id: number, uuid: string }, from, uuids, trx);
  return new Map(rows.map(({ id, uuid }) => [uuid, id]));
}

/** Rows of a kind that the steps create, in their order. */
function rowsOf(steps: readonly Step[], resource: Step["resource"]): readonly Row[] {
  return steps.flatMap((step) =>
    step.resource === resource && step.after !== null ? [step.after] : [],
  );
}

/** Nodes, then their ports; what can be made ready while the server works is. */
async function insertAll(
  ironic: Ironic,
  trx: Knex,
  steps: readonly Step[],
  inMaintenance: boolean,
): Promise<void> {
  const rows = rowsOf(steps, "node");
  const ports = rowsOf(steps, "port");
  const nodes = async (): Promise<NodeIds> => {
    const written = inMaintenance ? rows.map(staged) : rows;
    const made = await insertRows(ironic, trx, "nodes", written, null);
    const others = new Set(ports.map((row) => String(row.node_uuid)));
    for (const row of rows) if (traitsOf(row).length > 0) others.add(String(row.uuid));
    for (const uuid of made.keys()) others.delete(uuid);
    return new Map([...made, ...(await nodeIds(ironic, trx, [...others]))]);
  };
  const owners = nodes();
  try {
    await insertRows(ironic, trx, "ports", ports, owners);
  } finally {
    await owners.catch(() => undefined); // nothing is under way when the transaction ends
  }
  await insertTraits(ironic, trx, rows, await owners);
}

/** A value that must be unique is taken: by a row of ours, or by somebody else's. */
function isTaken(error: unknown): boolean {
  return error instanceof MigrationError && error.code === "N2I-E300";
}

/**
 * Whether a row that differs may still be the one we loaded: a batch that was begun and rolled back
 * leaves none, and what has its uuid then is somebody else's.
 */
function isLoaded(resource: Step["resource"], planned: Row, found: Row): boolean {
  if (resource === "port") return found.node_uuid === planned.node_uuid;
  const mark = ({ extra }: Row): unknown =>
    isObject(extra) && isObject(extra.nova_bm) ? extra.nova_bm.id : null;
  return mark(found) === mark(planned);
}

/**
 * Creates the rows that are not there. A row that is there as planned counts as found; one that
 * differs means the plan is stale, and the transaction ends with nothing kept, unless we loaded it
 * before: then somebody changed it since, and it is left alone.
 *
 * @param inMaintenance write nodes as a staged load does
 *
 * @throws MigrationError N2I-E300 naming the rows and fields
 */
export async function createRows(
  ironic: Ironic,
  trx: Knex,
  steps: readonly Step[],
  owned: (id: string) => boolean,
  inMaintenance: boolean,
): Promise<Outcome> {
  if (!steps.some(({ id }) => owned(id))) {
    // As a rule none is there, and the indexes say so sooner than a question would.
    const savepoint = (sql: string) => ironic.database.run("a savepoint", () => trx.raw(sql));
    await savepoint("SAVEPOINT before_rows");
    try {
      await insertAll(ironic, trx, steps, inMaintenance);
      return { done: steps.map(({ id }) => id), found: [], left: [] };
    } catch (error) {
      if (!isTaken(error)) throw error;
      await savepoint("ROLLBACK TO SAVEPOINT before_rows");
    }
  }
  return createMissing(ironic, trx, steps, owned, inMaintenance);
}

async function createMissing(
  ironic: Ironic,
  trx: Knex,
  steps: readonly Step[],
  owned: (id: string) => boolean,
  inMaintenance: boolean,
): Promise<Outcome> {
  const same = sameSecret(ironic.seal);
  const planned = new Map(steps.map((step) => [step.id, step]));
  const uuidsOf = (resource: Step["resource"]): readonly string[] =>
    rowsOf(steps, resource).map(({ uuid }) => String(uuid));
  const there = await readRows(ironic, trx, uuidsOf("node"), uuidsOf("port"), true);
  const rows = [
    ...there.nodes.map((raw) => ["node", raw] as const),
    ...there.ports.map((raw) => ["port", raw] as const),
  ];
  const found: string[] = [];
  const changed: { readonly id: string; readonly why: string }[] = [];
  const stale: string[] = [];
  for (const [resource, raw] of rows) {
    const id = `${resource}:${text(raw.uuid)}`;
    const after = planned.get(id)?.after ?? {};
    if (isWritten(ironic, resource, raw, after)) {
      found.push(id);
      continue;
    }
    const row = resource === "node" ? toNode(ironic, raw) : toPort(ironic, raw);
    const { differs } = compareRow(after, row, same);
    const why = differs.map(({ field }) => field).join(", ");
    if (differs.length === 0) found.push(id);
    else if (owned(id) && isLoaded(resource, after, row)) changed.push({ id, why });
    else stale.push(`${id} (${why})`);
  }
  if (stale.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `${stale.length} rows are there and differ from the plan: ${stale.slice(0, 5).join("; ")}`,
    );
  const skip = new Set([...found, ...changed.map(({ id }) => id)]);
  const missing = steps.filter(({ id, after }) => after !== null && !skip.has(id));
  await insertAll(ironic, trx, missing, inMaintenance);
  return { done: missing.map(({ id }) => id), found, left: changed };
}

type Cell = string | number | boolean | null;

/** Ids of nodes by their uuid. */
type NodeIds = ReadonlyMap<string, number>;

/** Rows a statement carries at most; the next ones are made ready while the server works on it. */
const ROWS = 128;
/** Characters of values a statement carries: escaped, still under a max_allowed_packet of 1 MiB. */
const STATEMENT = 400_000;

/** Columns some row of the batch has a value for; the others keep the database's NULL. */
function filled(rows: readonly Row[], columns: readonly Column[]): readonly Column[] {
  return columns.filter(({ name }) =>
    rows.some((row) => row[name] !== null && row[name] !== undefined),
  );
}

/** PostgreSQL's name for the array a column's values travel in. */
function arrayType({ type }: Column): string {
  if (type === "integer" || type === "boolean") return `${type}[]`;
  return type === "datetime" ? "timestamp[]" : "text[]";
}

/** @returns id and uuid of the new rows, where the server tells them with the insert */
async function insertChunk(
  database: Database,
  trx: Knex,
  table: string,
  columns: readonly Column[],
  cells: readonly (readonly Cell[])[],
): Promise<readonly RawRow[]> {
  const names = columns.map(({ name }) => name).join(",");
  if (database.engine === "postgresql") {
    // One array a column: the server parses a statement of constant length.
    // knex's binding type has no arrays of NULLs; pg sends them as they are.
    const arrays = columns.map((_, at) => cells.map((row) => row[at] ?? null)) as never[];
    const unnest = columns.map((column) => `?::${arrayType(column)}`).join(",");
    const answer: unknown = await trx
      .raw(
        `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${unnest}) RETURNING id, uuid`,
        arrays,
      )
      .catch(orBehind(table));
    return (answer as { rows: RawRow[] }).rows;
  }
  if (database.engine === "mysql") {
    // The driver writes a list of lists as (..), (..); knex's binding type has no such thing.
    const sql = `INSERT INTO ${table} (${names}) VALUES ?`;
    refuseWarnings(await trx.raw(sql, [cells] as never), table);
    return [];
  }
  const row = `(${columns.map(() => "?").join(",")})`;
  const sql = `INSERT INTO ${table} (${names}) VALUES ${cells.map(() => row).join(",")}`;
  await trx.raw(sql, cells.flat());
  return [];
}

/** Strict mode makes errors of almost all warnings; the rest must not pass unseen either. */
function refuseWarnings(answer: unknown, table: string): void {
  // mysql2: a pair of the result header and the fields.
  const { warningStatus, warningCount } = (
    answer as [{ warningStatus?: number; warningCount?: number }]
  )[0];
  const count = warningStatus ?? warningCount ?? 0;
  if (count > 0)
    throw new MigrationError(
      "N2I-E207",
      `writing ${table}: the server stored the values with ${count} warnings`,
    );
}

/** A port's node: its place among the columns is the last, as it is known last. */
const NODE_ID: Column = { name: "node_id", type: "integer", null: true };

function nodeIdOf({ uuid, node_uuid }: Row, ids: NodeIds): number {
  const id = ids.get(String(node_uuid));
  if (id !== undefined) return id;
  throw new MigrationError(
    "N2I-E300",
    `port ${String(uuid)}: its node ${String(node_uuid)} is not in Ironic`,
  );
}

/**
 * Writes rows in statements of some, opening their secrets on the way; the cells of the next
 * statement are made while the server works on the last.
 *
 * @param owners of ports: the ids of their nodes, once these are there; null for nodes
 * @returns ids of the new rows, where the server tells them with the insert
 */
async function insertRows(
  { database, release, seal }: Ironic,
  trx: Knex,
  table: "nodes" | "ports",
  rows: readonly Row[],
  owners: Promise<NodeIds> | null,
): Promise<NodeIds> {
  const columns = release[table === "nodes" ? "node" : "port"];
  const used = filled(
    rows,
    columns.filter(({ name }) => name !== "id" && name !== NODE_ID.name),
  );
  const sent = owners === null ? used : [...used, NODE_ID];
  const made = new Map<string, number>();
  let working: Promise<readonly RawRow[]> = Promise.resolve([]);
  const settled = async (): Promise<void> => {
    for (const { id, uuid } of await working) made.set(text(uuid) ?? "", integer(id) ?? 0);
  };
  let cells: (readonly Cell[])[] = [];
  let bytes = 0;
  for (const [at, row] of rows.entries()) {
    const values = used.map(({ name }) => encode(name, row[name] ?? null, seal));
    for (const value of values) bytes += typeof value === "string" ? value.length + 4 : 8;
    cells.push(values);
    if (cells.length < ROWS && bytes < STATEMENT && at + 1 < rows.length) continue;
    const ids = await owners;
    const first = at + 1 - cells.length;
    const chunk =
      ids === null
        ? cells
        : cells.map((known, nth) => [...known, nodeIdOf(rows[first + nth] ?? row, ids)]);
    await settled();
    working = database.run(`writing ${table}`, () =>
      insertChunk(database, trx, table, sent, chunk),
    );
    working.catch(() => undefined); // thrown when it is awaited
    await turn(); // by now the statement is on its way
    [cells, bytes] = [[], 0];
  }
  await settled();
  return made;
}
