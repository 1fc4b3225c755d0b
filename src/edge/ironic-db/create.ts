import type { Knex } from "knex";
import type { Outcome } from "../../model/change.ts";
import { compareRow, sameSecret } from "../../model/compare.ts";
import { MigrationError } from "../../model/error.ts";
import { staged } from "../../model/handover.ts";
import { isObject } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import type { Step } from "../../model/plan.ts";
import { read } from "../database/read.ts";
import { number, string } from "../database/rows.ts";
import { type Ironic, readRows, toNode, toPort } from "./current.ts";
import { insertRows, type NodeIds } from "./insert.ts";
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
