import type { Knex } from "knex";
import { compareRow, type SameSecret } from "../../model/compare.ts";
import { MigrationError } from "../../model/error.ts";
import { isObject, type Json } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import type { Step } from "../../model/plan.ts";
import { staged } from "../../model/staged.ts";
import type { Column } from "../../model/tables.ts";
import type { Performed, Release } from "../../model/target.ts";
import { integer, marks, select, text } from "../database/rows.ts";
import { type Ironic, lockRows, toNode, toPort } from "./current.ts";
import { insertRows } from "./insert.ts";

/** A port's columns as the table has them: node_id instead of our node_uuid. */
function withNodeId(row: Row, ids: ReadonlyMap<string, number>): Row {
  const { node_uuid, ...rest } = row;
  const id = ids.get(String(node_uuid));
  if (id === undefined)
    throw new MigrationError(
      "N2I-E300",
      `port ${String(row.uuid)}: its node ${String(node_uuid)} is not in Ironic`,
    );
  return { ...rest, node_id: id };
}

async function nodeIds(
  { database }: Ironic,
  trx: Knex,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (uuids.length === 0) return new Map();
  const rows = await database.run("reading the ids of nodes", () =>
    select(database, trx, `SELECT id, uuid FROM nodes WHERE uuid IN (${marks(uuids)})`, uuids),
  );
  return new Map(rows.map(({ id, uuid }) => [text(uuid) ?? "", integer(id) ?? 0]));
}

function withoutId(columns: Release["node"]): readonly Column[] {
  return columns.filter(({ name }) => name !== "id");
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
  ours: boolean,
  same: SameSecret,
  inMaintenance: boolean,
): Promise<Performed> {
  const planned = new Map(steps.map((step) => [step.id, step]));
  const uuidsOf = (resource: Step["resource"]): readonly string[] =>
    steps.filter((step) => step.resource === resource).map(({ after }) => String(after?.uuid));
  const there = await lockRows(ironic, trx, uuidsOf("node"), uuidsOf("port"));
  const rows = [
    ...there.nodes.map((raw) => ["node", toNode(ironic, raw)] as const),
    ...there.ports.map((raw) => ["port", toPort(ironic, raw)] as const),
  ];
  const found: string[] = [];
  const changed: { readonly id: string; readonly why: string }[] = [];
  const stale: string[] = [];
  for (const [resource, row] of rows) {
    const id = `${resource}:${String(row.uuid)}`;
    const after = planned.get(id)?.after ?? {};
    const { differs } = compareRow(after, row, same);
    const why = differs.map(({ field }) => field).join(", ");
    if (differs.length === 0) found.push(id);
    else if (ours && isLoaded(resource, after, row)) changed.push({ id, why });
    else stale.push(`${id} (${why})`);
  }
  if (stale.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `${stale.length} rows are there and differ from the plan: ${stale.slice(0, 5).join("; ")}`,
    );
  const skip = new Set([...found, ...changed.map(({ id }) => id)]);
  const missing = steps.filter(({ id, after }) => after !== null && !skip.has(id));
  const rowsOf = (resource: Step["resource"]): readonly { readonly [column: string]: Json }[] =>
    missing.filter((step) => step.resource === resource).map(({ after }) => after ?? {});
  const { node, port } = ironic.release;
  const nodes = inMaintenance ? rowsOf("node").map(staged) : rowsOf("node");
  await insertRows(ironic, trx, "nodes", nodes, withoutId(node));
  const ports = rowsOf("port");
  const ids = await nodeIds(ironic, trx, [...new Set(ports.map((row) => String(row.node_uuid)))]);
  await insertRows(
    ironic,
    trx,
    "ports",
    ports.map((row) => withNodeId(row, ids)),
    withoutId(port),
  );
  return { done: missing.map(({ id }) => id), found, left: changed };
}
