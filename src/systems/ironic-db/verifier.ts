import type { Verifier } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { type ByText, indexByText } from "../database/by-text.ts";
import { keyed } from "../database/keyed.ts";
import {
  ask,
  askIn,
  askNumber,
  columnList,
  number,
  type RawRow,
  string,
} from "../database/rows.ts";
import { isAsPlanned } from "./as-planned.ts";
import { GARBLED, MARK, UNREADABLE } from "./codec.ts";
import { columnsOf, type Ironic, toNode, toPort } from "./current.ts";
import { withTraits } from "./traits.ts";

const PAGE = 2000;

/**
 * Reads what is really there, node by node with all of its ports, by statements the loader does
 * not use. Trusts no counter and no journal.
 */
export function createVerifier(ironic: Ironic): Verifier {
  const { database, release, seal } = ironic;
  const portsOf = portsReader(ironic);
  return {
    async rows(nodeUuids, planned) {
      const unreadable = new Map<string, string>();
      /** The planned row where it reads as that one; otherwise what it reads as. */
      const look = (resource: Resource, raw: RawRow, owner: string | null): Row => {
        const uuid = string(raw.uuid);
        const wanted = planned(uuid);
        if (wanted !== undefined && isAsPlanned(raw, wanted, release[resource], seal, owner))
          return wanted;
        const row = owner === null ? toNode(ironic, raw) : toPort(ironic, raw, owner);
        for (const column in row)
          if ((row[column] === UNREADABLE || row[column] === GARBLED) && !unreadable.has(uuid))
            unreadable.set(uuid, `${column} is ${String(row[column]).slice(1, -1)}`);
        return row;
      };
      const from = await keyed(database, "nodes", "uuid", "n");
      const sql = `SELECT ${everything(ironic, "node", "n")} FROM ${from} WHERE uuid IN (...)`;
      const found = await askIn(database, "verifying nodes", sql, nodeUuids);
      const rows = await withTraits(ironic, database.knex, found);
      const owners = new Map(rows.map(({ id, uuid }) => [number(id), string(uuid)]));
      const nodes = new Map(
        rows.map((raw) => [string(raw.uuid), look("node", raw, null)] as const),
      );
      const ports = new Map<string, Row[]>();
      for (const raw of await portsOf([...owners.keys()])) {
        const owner = owners.get(number(raw.node_id));
        if (owner === undefined) continue;
        const port = look("port", raw, owner);
        const others = ports.get(owner);
        if (others === undefined) ports.set(owner, [port]);
        else others.push(port);
      }
      return { nodes, ports, unreadable };
    },
    async marked() {
      const sql = "SELECT count(*) AS n FROM nodes WHERE extra LIKE ?";
      return (await askNumber(database, "counting", sql, [MARK])) ?? 0;
    },
    async *markedUuids() {
      const sql = `SELECT id, ${columnList(database, ["uuid"])} FROM nodes WHERE id > ? AND extra LIKE ? ORDER BY id LIMIT ${PAGE}`;
      for (let after = 0; ; ) {
        const page = await ask(database, "listing nodes", sql, [after, MARK]);
        if (page.length > 0) yield page.map(({ uuid }) => string(uuid));
        if (page.length < PAGE) return;
        after = number(page.at(-1)?.id);
      }
    },
  };
}

/** By name only where a text may have to be read as bytes. */
function everything(ironic: Ironic, table: "node" | "port", prefix: string): string {
  return ironic.database.engine === "sqlite" ? columnsOf(ironic, table, prefix) : "*";
}

/** A foreign key is an index on MySQL only: elsewhere the ports of each batch would cost a walk of them all. */
function portsReader(ironic: Ironic): (nodes: readonly number[]) => Promise<readonly RawRow[]> {
  const { database } = ironic;
  const { engine, knex } = database;
  let index: Promise<ByText> | undefined;
  return async (nodes) => {
    if (nodes.length === 0) return [];
    if (engine !== "mysql")
      index ??= indexByText(database, knex, "ports", "node_id", "node_id IS NOT NULL");
    const ids = (await index)?.ids(nodes.map(String)) ?? nodes;
    const column = index === undefined ? "node_id" : "id";
    const from = await keyed(database, "ports", column, "p");
    const sql = `SELECT ${everything(ironic, "port", "p")} FROM ${from} WHERE ${column} IN (...) ORDER BY id`;
    return askIn(database, "verifying ports", sql, ids);
  };
}
