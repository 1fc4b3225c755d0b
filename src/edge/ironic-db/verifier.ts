import type { Row } from "../../model/machine.ts";
import type { Verifier } from "../../model/target.ts";
import { type ByText, indexByText } from "../database/by-text.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, portions, type RawRow, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";
import { GARBLED, UNREADABLE } from "./codec.ts";
import { columnsOf, type Ironic, toNode, toPort } from "./current.ts";
import { withTraits } from "./traits.ts";

const PAGE = 2000;
/** Our mark inside nodes.extra: the key, as JSON text holds it with or without spaces. */
const MARK = '%"nova_bm":%';

/**
 * Reads what is really there, node by node with all of its ports, by statements the loader does
 * not use. Trusts no counter and no journal.
 */
export function createVerifier(ironic: Ironic): Verifier {
  const { database } = ironic;
  const ask = asking(database);
  const portsOf = portsReader(ironic);
  return {
    async rows(nodeUuids) {
      const nodes = new Map<string, Row>();
      const ports = new Map<string, Row[]>();
      const unreadable = new Map<string, string>();
      if (nodeUuids.length === 0) return { nodes, ports, unreadable };
      const keep = (uuid: string, row: Row): Row => {
        for (const column in row)
          if ((row[column] === UNREADABLE || row[column] === GARBLED) && !unreadable.has(uuid))
            unreadable.set(uuid, `${column} is ${String(row[column]).slice(1, -1)}`);
        return row;
      };
      const found = await ask(
        "verifying nodes",
        `SELECT ${everything(ironic, "node", "n")} FROM nodes n WHERE uuid IN (${marks(nodeUuids)})`,
        nodeUuids,
      );
      const rows = await withTraits(ironic, database.knex, found);
      const owner = new Map<number, string>();
      for (const raw of rows) {
        const uuid = text(raw.uuid) ?? "";
        owner.set(integer(raw.id) ?? -1, uuid);
        nodes.set(uuid, keep(uuid, toNode(ironic, raw)));
      }
      for (const raw of owner.size === 0 ? [] : await portsOf([...owner.keys()])) {
        const node = owner.get(integer(raw.node_id) ?? -1);
        if (node === undefined) continue;
        const row = keep(text(raw.uuid) ?? "", toPort(ironic, raw, node));
        const list = ports.get(node);
        if (list === undefined) ports.set(node, [row]);
        else list.push(row);
      }
      return { nodes, ports, unreadable };
    },
    async marked() {
      const [row] = await ask("counting", "SELECT count(*) AS n FROM nodes WHERE extra LIKE ?", [
        MARK,
      ]);
      return integer(row?.n) ?? 0;
    },
    async *markedUuids() {
      for (let after = 0; ; ) {
        const page = await ask(
          "listing nodes",
          `SELECT id, ${whole(database.engine, "uuid")} AS uuid FROM nodes WHERE id > ? AND extra LIKE ? ORDER BY id LIMIT ${PAGE}`,
          [after, MARK],
        );
        if (page.length > 0) yield page.map(({ uuid }) => text(uuid) ?? "");
        if (page.length < PAGE) return;
        after = integer(page.at(-1)?.id) ?? 0;
      }
    },
  };
}

type Ask = (doing: string, sql: string, values?: readonly unknown[]) => Promise<readonly RawRow[]>;

function asking(database: Database): Ask {
  return (doing, sql, values = []) =>
    database.run(doing, () => select(database, database.knex, sql, values));
}

/** By name only where a text may have to be read as bytes. */
function everything(ironic: Ironic, table: "node" | "port", prefix: string): string {
  return ironic.database.engine === "sqlite" ? columnsOf(ironic, table, prefix) : "*";
}

/** A foreign key is an index on MySQL only: elsewhere the ports of each batch would cost a walk of them all. */
function portsReader(ironic: Ironic): (nodes: readonly number[]) => Promise<readonly RawRow[]> {
  const { database } = ironic;
  const ask = asking(database);
  let index: ByText | undefined;
  return async (nodes) => {
    if (database.engine !== "mysql")
      index ??= await indexByText(
        database,
        database.knex,
        "ports",
        "node_id",
        "node_id IS NOT NULL",
      );
    const ids = index?.ids(nodes.map(String)) ?? nodes;
    if (ids.length === 0) return [];
    const column = index === undefined ? "node_id" : "id";
    const found: (readonly RawRow[])[] = [];
    for (const some of portions(ids)) {
      const sql = `SELECT ${everything(ironic, "port", "p")} FROM ports p WHERE ${column} IN (${marks(some)}) ORDER BY id`;
      found.push(await ask("verifying ports", sql, some));
    }
    return found.flat();
  };
}
