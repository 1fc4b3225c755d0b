import type { Row } from "../../model/machine.ts";
import { sendRows } from "../database/bulk.ts";
import type { Database } from "../database/open.ts";
import { ask, number, string, text } from "../database/rows.ts";
import { orSequenceTooLow } from "../database/sequence.ts";
import { fieldWriter } from "./codec.ts";
import type { Ironic } from "./current.ts";
import { filled, NODE_ID, type NodeIds, nodeIdOf, type WriteRows } from "./insert.ts";

interface Bulk {
  /** False after the server refused a bulk load. */
  readonly works: () => boolean;
  readonly write: WriteRows;
}

/** Null on SQLite, which has only statements. */
export function bulkOf({ engine }: Pick<Database, "engine">): Bulk | null {
  if (engine === "sqlite") return null;
  let works = true;
  let drawing: Promise<Draw | null> | null = null;
  return {
    works: () => works,
    async write(ironic, table, rows, owners) {
      if (rows.length === 0) return new Map();
      drawing ??= engine === "postgresql" ? drawOf(ironic) : Promise.resolve(null);
      const draw = await drawing;
      works &&= engine === "mysql" || draw !== null;
      const ids = owners === null ? new Map<string, number>() : await owners;
      if (!works || ids === null) return null;
      const drawn = owners === null && draw !== null ? await draw(ironic, rows) : null;
      const { columns, lines } = textOf(ironic, table, rows, drawn ?? (owners && ids));
      const outcome = await ironic.database.run(`writing ${table}`, () =>
        sendRows(ironic.database, { table, columns }, lines, rows.length).catch(
          orSequenceTooLow(table),
        ),
      );
      works &&= outcome !== "refused";
      if (outcome !== "written") return null;
      return drawn ?? (table === "nodes" ? await insertedIds(ironic) : new Map());
    },
  };
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
