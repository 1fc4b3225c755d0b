import { createRequire } from "node:module";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Knex } from "knex";
import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { Row } from "../../model/machine.ts";
import type { Column } from "../../model/mapping.ts";
import type { Database } from "../database/open.ts";
import { ask, marks, number, type RawRow, string, text } from "../database/rows.ts";
import { orSequenceTooLow } from "../database/statement.ts";
import { encode, fieldWriter } from "./codec.ts";
import type { Ironic } from "./current.ts";

const require = createRequire(import.meta.url);

type Cell = ReturnType<typeof encode>;

export type NodeIds = ReadonlyMap<string, number>;

/**
 * @param owners of ports: ids of their nodes; null for nodes
 * @returns ids of new rows, if the server returns them; null if rows are missing, and the caller
 *   must roll back
 */
export type WriteRows = (
  ironic: Ironic,
  table: "nodes" | "ports",
  rows: readonly Row[],
  owners: NodeIds | null,
) => Promise<NodeIds | null>;

const ROWS = 128;
/** Characters per statement, below a max_allowed_packet of 1 MiB with escapes. */
const STATEMENT = 400_000;

const NODE_ID: Column = { name: "node_id", type: "integer", null: true };

/** Columns with a value in any row, without ids. Other columns stay NULL. */
function filled(rows: readonly Row[], columns: readonly Column[]): readonly Column[] {
  return columns.filter(
    ({ name }) =>
      name !== "id" &&
      name !== NODE_ID.name &&
      rows.some((row) => row[name] !== null && row[name] !== undefined),
  );
}

async function insertChunk(
  { engine, knex }: Database,
  table: string,
  columns: readonly Column[],
  cells: readonly (readonly Cell[])[],
): Promise<readonly RawRow[]> {
  const names = columns.map(({ name }) => name).join(",");
  const rows = cells.map(() => `(${marks(columns)})`).join(",");
  const returning = engine === "postgresql" ? " RETURNING id, uuid" : "";
  const sql = `INSERT INTO ${table} (${names}) VALUES ${rows}${returning}`;
  const answer: unknown = await knex.raw(sql, cells.flat()).catch(orSequenceTooLow(table));
  // Strict mode turns most warnings into errors, but not all.
  const warnings = engine === "mysql" ? warningsOf(answer) : 0;
  if (warnings > 0)
    throw new MigrationError(
      "N2I-E207",
      `writing ${table}: the server stored the values with ${counted(warnings, "warning")}`,
    );
  return returning === "" ? [] : (answer as { rows: RawRow[] }).rows;
}

function nodeIdOf({ uuid, node_uuid }: Row, ids: NodeIds): number {
  const id = ids.get(String(node_uuid));
  if (id !== undefined) return id;
  throw new MigrationError(
    "N2I-E300",
    `port ${String(uuid)}: its node ${String(node_uuid)} is not in Ironic`,
  );
}

export async function insertRows(
  { database, release, seal }: Ironic,
  table: "nodes" | "ports",
  rows: readonly Row[],
  owners: NodeIds | null,
): Promise<NodeIds> {
  const used = filled(rows, release[table === "nodes" ? "node" : "port"]);
  const sent = owners === null ? used : [...used, NODE_ID];
  const made = new Map<string, number>();
  let cells: (readonly Cell[])[] = [];
  let bytes = 0;
  for (const [at, row] of rows.entries()) {
    const values = used.map(({ name }) => encode(name, row[name] ?? null, seal));
    for (const value of values) bytes += typeof value === "string" ? value.length + 4 : 8;
    cells.push(owners === null ? values : [...values, nodeIdOf(row, owners)]);
    if (cells.length < ROWS && bytes < STATEMENT && at + 1 < rows.length) continue;
    const chunk = cells;
    const inserted = await database.run(`writing ${table}`, () =>
      insertChunk(database, table, sent, chunk),
    );
    for (const { id, uuid } of inserted) made.set(string(uuid), number(id));
    [cells, bytes] = [[], 0];
  }
  return made;
}

/** Null on SQLite, which has only statements. */
export function bulkOf({ engine }: Pick<Database, "engine">) {
  if (engine === "sqlite") return null;
  let works = true;
  let drawing: Promise<Draw | null> | null = null;
  const write: WriteRows = async (ironic, table, rows, owners) => {
    if (rows.length === 0) return new Map();
    drawing ??= engine === "postgresql" ? drawOf(ironic) : Promise.resolve(null);
    const draw = await drawing;
    works &&= engine === "mysql" || draw !== null;
    if (!works) return null;
    const drawn = owners === null && draw !== null ? await draw(ironic, rows) : null;
    const { columns, lines } = textOf(ironic, table, rows, drawn ?? owners);
    const { knex, run } = ironic.database;
    const send = engine === "postgresql" ? copy : load;
    const stored = await run(`writing ${table}`, () =>
      send(knex, table, `(${columns.join(",")})`, chunksOf(lines)).catch((error: unknown) =>
        isRefused(error) ? "refused" : orSequenceTooLow(table)(error),
      ),
    );
    works &&= stored !== "refused";
    if (stored !== rows.length) return null;
    return drawn ?? (table === "nodes" ? await insertedIds(ironic) : new Map());
  };
  // `works` is false after the server refused a bulk load.
  return { works: () => works, write };
}

/** Ids of the last statement's nodes, three times faster than by uuid. */
async function insertedIds({ database }: Ironic): Promise<NodeIds> {
  const sql = "SELECT id, uuid FROM nodes WHERE id >= LAST_INSERT_ID() AND LAST_INSERT_ID() > 0";
  const rows = await ask(database, "reading ids of nodes", sql);
  return new Map(rows.map(({ id, uuid }) => [string(uuid), number(id)]));
}

/** Assigns ids to node rows, because COPY returns none. */
type Draw = (ironic: Ironic, rows: readonly Row[]) => Promise<NodeIds>;

/** Null without a usable sequence. An INSERT reports a better error. */
async function drawOf({ database }: Ironic): Promise<Draw | null> {
  const sequence = "SELECT pg_get_serial_sequence('nodes', 'id') AS name";
  const sql = `SELECT name, has_sequence_privilege(name, 'USAGE') AS usable FROM (${sequence}) s WHERE name IS NOT NULL`;
  const [{ name, usable } = {}] = await ask(database, "reading sequences", sql);
  if (usable !== true) return null;
  const next = "SELECT nextval(?::regclass) AS id FROM generate_series(1, ?)";
  return async (ironic, rows) => {
    const values = [text(name), rows.length];
    const ids = await ask(ironic.database, "taking ids of nodes", next, values);
    return new Map(rows.map(({ uuid }, at) => [String(uuid), number(ids[at]?.id)]));
  };
}

/** @param ids of the nodes or of the ports' nodes; null if the server assigns them */
function textOf(
  { release, seal }: Ironic,
  table: "nodes" | "ports",
  rows: readonly Row[],
  ids: NodeIds | null,
) {
  const names = filled(rows, release[table === "nodes" ? "node" : "port"]).map(({ name }) => name);
  const writers = names.map((name) => [name, fieldWriter(name, seal)] as const);
  const idOf = (row: Row, nodeIds: NodeIds): number =>
    table === "nodes" ? (nodeIds.get(String(row.uuid)) ?? 0) : nodeIdOf(row, nodeIds);
  function* lines(): Generator<string> {
    for (const row of rows) {
      let line = ids === null ? null : `${idOf(row, ids)}`;
      for (const [name, write] of writers) {
        const field = write(row[name] ?? null);
        line = line === null ? field : `${line}\t${field}`;
      }
      yield `${line}\n`;
    }
  }
  const first = table === "nodes" ? "id" : NODE_ID.name;
  return { columns: ids === null ? names : [first, ...names], lines: lines() };
}

/** Small chunks overlap the server's work with the preparation of the next chunk. */
const CHUNK = 65_536;

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  let text = "";
  for (const line of lines) {
    text += line;
    if (text.length < CHUNK) continue;
    yield Buffer.from(text);
    text = "";
  }
  if (text !== "") yield Buffer.from(text);
}

/**
 * Refusals of bulk loads. PostgreSQL: row security (0A000), not a table (42809), missing privilege
 * (42501). MySQL and MariaDB: local_infile is off (1148, 3948, 4166), or a proxy does not know the
 * statement (1047, 1064, 1235).
 */
const REFUSALS: ReadonlySet<unknown> = new Set([
  ...["0A000", "42809", "42501"],
  ...[1047, 1064, 1148, 1235, 3948, 4166],
]);

function isRefused(error: unknown): boolean {
  const { errno, code } = Object(error) as { readonly errno?: unknown; readonly code?: unknown };
  return REFUSALS.has(typeof errno === "number" ? errno : code);
}

/** The package's function, which returns a stream that pg accepts as a query. */
type CopyFrom = (sql: string) => Writable & { readonly rowCount: number };

/** @returns the number of stored rows */
async function copy(trx: Knex, table: string, columns: string, chunks: Iterable<Buffer>) {
  const { from } = require("pg-copy-streams") as { readonly from: CopyFrom };
  const sql = `COPY ${table} ${columns} FROM STDIN`;
  const through = async (client: unknown) => {
    const stream = from(sql);
    // pg's client accepts any object with a `submit` method.
    (client as { query: (query: unknown) => void }).query(stream);
    await pipeline(Readable.from(chunks), stream);
    return stream.rowCount;
  };
  return Number(await trx.raw(sql).options({ through }));
}

/** Duplicate keys and truncated values are only warnings here. Then the number is NaN. */
async function load(trx: Knex, table: string, columns: string, chunks: Iterable<Buffer>) {
  const form =
    "CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'";
  const sql = `LOAD DATA LOCAL INFILE 'rows' INTO TABLE ${table} ${form} ${columns}`;
  // The server gets these rows whatever file name it requests. Requests at other times fail.
  const infileStreamFactory = (): Readable => Readable.from(chunks);
  const answer: unknown = await trx.raw(sql).options({ infileStreamFactory });
  return warningsOf(answer) > 0
    ? Number.NaN
    : (answer as [{ affectedRows: number }])[0].affectedRows;
}

/** @param answer mysql2's [header, fields] */
function warningsOf(answer: unknown): number {
  const [header] = answer as [{ warningStatus?: number; warningCount?: number }];
  return header.warningStatus ?? header.warningCount ?? 0;
}
