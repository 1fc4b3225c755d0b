import type { Row } from "../../model/machine.ts";
import type { Verifier } from "../../model/target.ts";
import { integer, marks, type RawRow, select, text } from "../database/rows.ts";
import { UNREADABLE } from "./codec.ts";
import { type Ironic, toNode, toPort } from "./current.ts";

const PAGE = 2000;
/** Our mark inside nodes.extra, as JSON text holds it with or without spaces. */
const MARK = '%"nova_bm"%';

/**
 * Reads what is really there, node by node with all of its ports, by statements the loader does
 * not use. Trusts no counter and no journal.
 */
export function createVerifier(ironic: Ironic): Verifier {
  const { database } = ironic;
  const ask = (doing: string, sql: string, values: readonly unknown[] = []) =>
    database.run(doing, () => select(database, database.knex, sql, values));
  return {
    async rows(nodeUuids) {
      const nodes = new Map<string, Row>();
      const ports = new Map<string, Row[]>();
      const unreadable = new Map<string, string>();
      if (nodeUuids.length === 0) return { nodes, ports, unreadable };
      const keep = (uuid: string, row: Row): Row => {
        const bad = Object.entries(row).find(([, value]) => value === UNREADABLE);
        if (bad !== undefined) unreadable.set(uuid, `${bad[0]} is not JSON`);
        return row;
      };
      const rows = await ask(
        "verifying nodes",
        `SELECT * FROM nodes WHERE uuid IN (${marks(nodeUuids)})`,
        nodeUuids,
      );
      const owner = new Map<number, string>();
      for (const raw of rows) {
        const uuid = text(raw.uuid) ?? "";
        owner.set(integer(raw.id) ?? -1, uuid);
        nodes.set(uuid, keep(uuid, toNode(ironic, raw)));
      }
      for (const raw of owner.size === 0 ? [] : await portsOf([...owner.keys()])) {
        const node = owner.get(integer(raw.node_id) ?? -1) ?? "";
        const row = keep(text(raw.uuid) ?? "", toPort(ironic, { ...raw, node_uuid: node }));
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
          `SELECT id, uuid FROM nodes WHERE id > ? AND extra LIKE ? ORDER BY id LIMIT ${PAGE}`,
          [after, MARK],
        );
        if (page.length > 0) yield page.map(({ uuid }) => text(uuid) ?? "");
        if (page.length < PAGE) return;
        after = integer(page.at(-1)?.id) ?? 0;
      }
    },
  };

  function portsOf(ids: readonly number[]): Promise<readonly RawRow[]> {
    return ask(
      "verifying ports",
      `SELECT * FROM ports WHERE node_id IN (${marks(ids)}) ORDER BY id`,
      ids,
    );
  }
}
