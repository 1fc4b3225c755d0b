import type { Knex } from "knex";
import type { Row } from "../../model/machine.ts";
import { type Became, sendRows } from "../database/bulk.ts";
import type { Database } from "../database/open.ts";
import { ask, number, string, text } from "../database/rows.ts";
import { orBehind } from "../database/sequence.ts";
import { fieldWriter } from "./codec.ts";
import type { Ironic } from "./current.ts";
import { filled, NODE_ID, type NodeIds, nodeIdOf, type WriteRows } from "./insert.ts";

/** Rows as text, to a server that reads them so. */
export interface Bulk {
  /** False once the server said that it does not. */
  readonly works: () => boolean;
  readonly write: WriteRows;
}

/** What a server does without: SQLite knows rows in statements alone. */
export function bulkOf({ engine }: Pick<Database, "engine">): Bulk | null {
  if (engine === "sqlite") return null;
  let works = true;
  let drawing: Promise<Draw | null> | null = null;
  return {
    works: () => works,
    async write(ironic, trx, table, rows, owners) {
      if (rows.length === 0) return new Map();
      drawing ??= engine === "postgresql" ? drawOf(ironic, trx) : Promise.resolve(null);
      const draw = await drawing;
      works &&= engine === "mysql" || draw !== null;
      const ids = owners === null ? new Map<string, number>() : await owners;
      if (!works || ids === null) return null;
      const drawn = owners === null && draw !== null ? await draw(trx, rows) : null;
      const { columns, lines } = textOf(ironic, table, rows, drawn ?? (owners && ids));
      const became: Became = await ironic.database.run(`writing ${table}`, () =>
        sendRows(trx, { engine, table, columns }, lines, rows.length).catch(orBehind(table)),
      );
      works &&= became !== "refused";
      if (became !== "written") return null;
      return drawn ?? (table === "nodes" ? await idsGiven(ironic, trx) : new Map());
    },
  };
}

/** Ids of the nodes that the last statement wrote: in a third of the time that asking for each by its uuid takes. */
async function idsGiven({ database }: Ironic, trx: Knex): Promise<NodeIds> {
  const sql = "SELECT id, uuid FROM nodes WHERE id >= LAST_INSERT_ID() AND LAST_INSERT_ID() > 0";
  const rows = await ask(database, "reading ids of nodes", sql, [], trx);
  return new Map(rows.map(({ id, uuid }) => [string(uuid), number(id)]));
}

/** Gives rows of nodes their ids, which no COPY would tell. */
type Draw = (trx: Knex, rows: readonly Row[]) => Promise<NodeIds>;

/** Null without a sequence, or a right on it: an INSERT needs the same, but may be told otherwise. */
async function drawOf({ database }: Ironic, trx: Knex): Promise<Draw | null> {
  const own = "SELECT pg_get_serial_sequence('nodes', 'id') AS name";
  const sql = `SELECT name, has_sequence_privilege(name, 'USAGE') AS usable FROM (${own}) s WHERE name IS NOT NULL`;
  const [{ name, usable } = {}] = await ask(database, "reading sequences", sql, [], trx);
  if (usable !== true) return null;
  const next = "SELECT nextval(?::regclass) AS id FROM generate_series(1, ?)";
  return async (on, rows) => {
    const given = [text(name), rows.length];
    const ids = await ask(database, "taking ids of nodes", next, given, on);
    return new Map(rows.map(({ uuid }, at) => [String(uuid), number(ids[at]?.id)]));
  };
}

/**
 * Rows as lines, each made when it is asked for.
 *
 * @param ids of nodes: of their own rows that are told theirs, or of the owners of ports; null where the server numbers them
 */
function textOf(
  { release, seal }: Ironic,
  table: "nodes" | "ports",
  rows: readonly Row[],
  ids: NodeIds | null,
) {
  const names = filled(rows, release[table === "nodes" ? "node" : "port"]).map(({ name }) => name);
  const writers = names.map((name) => [name, fieldWriter(name, seal)] as const);
  const idOf = (row: Row, known: NodeIds): number =>
    table === "nodes" ? (known.get(String(row.uuid)) ?? 0) : nodeIdOf(row, known);
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
