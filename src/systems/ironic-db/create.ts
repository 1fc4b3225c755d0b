import type { Knex } from "knex";
import { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { Outcome } from "../../model/change.ts";
import { compareRow, sameSecret } from "../../model/compare.ts";
import { staged } from "../../model/handover.ts";
import type { Row } from "../../model/machine.ts";
import type { Step } from "../../model/plan.ts";
import { keyed } from "../database/keyed.ts";
import { read } from "../database/read.ts";
import { number, string, text } from "../database/rows.ts";
import type { Bulk } from "./bulk.ts";
import { type Ironic, isWritten, readRows, toNode, toPort } from "./current.ts";
import { insertRows, type NodeIds, type WriteRows } from "./insert.ts";
import { insertTraits, traitsOf } from "./traits.ts";

async function nodeIds(
  { database }: Ironic,
  trx: Knex,
  uuids: readonly string[],
): Promise<NodeIds> {
  const from = `${await keyed(database, "nodes", "uuid", "", trx)} WHERE uuid IN (...)`;
  const rows = await read(database, { id: number, uuid: string }, from, uuids, trx);
  return new Map(rows.map(({ id, uuid }) => [uuid, id]));
}

/** Rows of a kind that the steps create, in their order. */
function rowsOf(steps: readonly Step[], resource: Step["resource"]): readonly Row[] {
  const rows: Row[] = [];
  for (const step of steps)
    if (step.resource === resource && step.after !== null) rows.push(step.after);
  return rows;
}

/** Where a batch of rows goes, and how. */
interface Writing {
  readonly ironic: Ironic;
  readonly trx: Knex;
  /** Writes nodes as a staged load does. */
  readonly inMaintenance: boolean;
  /** What is tried before statements; null where there is nothing else. */
  readonly bulk: Bulk | null;
  /** Runs before rows are written; what it throws keeps them from it. */
  readonly making?: () => Promise<void>;
}

/**
 * Nodes, then their ports; what can be made ready while the server works is.
 *
 * @returns false when not all of them could be written this way
 */
async function writeAll(
  { ironic, trx, inMaintenance }: Writing,
  steps: readonly Step[],
  write: WriteRows,
): Promise<boolean> {
  const rows = rowsOf(steps, "node");
  const ports = rowsOf(steps, "port");
  const nodes = async (): Promise<NodeIds | null> => {
    const written = inMaintenance ? rows.map(staged) : rows;
    const made = await write(ironic, trx, "nodes", written, null);
    if (made === null) return null;
    const others = new Set(ports.map((row) => String(row.node_uuid)));
    for (const row of rows) if (traitsOf(row).length > 0) others.add(String(row.uuid));
    for (const uuid of made.keys()) others.delete(uuid);
    return new Map([...made, ...(await nodeIds(ironic, trx, [...others]))]);
  };
  const owners = nodes();
  let written: NodeIds | null;
  try {
    written = await write(ironic, trx, "ports", ports, owners);
  } finally {
    await owners.catch(() => undefined); // nothing is under way when the transaction ends
  }
  const ids = await owners;
  if (ids === null || written === null) return false;
  await insertTraits(ironic, trx, rows, ids);
  return true;
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
 * @throws MigrationError N2I-E300 naming the rows and fields
 */
export async function createRows(
  writing: Writing,
  steps: readonly Step[],
  owned: (id: string) => boolean,
): Promise<Outcome> {
  const { ironic, trx, bulk, making } = writing;
  if (!steps.some(({ id }) => owned(id))) {
    await making?.();
    // As a rule none is there, and the indexes say so sooner than a question would.
    const savepoint = (sql: string) => ironic.database.run("a savepoint", () => trx.raw(sql));
    await savepoint("SAVEPOINT before_rows");
    try {
      const write = bulk?.works() ? bulk.write : insertRows;
      if (await writeAll(writing, steps, write))
        return { done: steps.map(({ id }) => id), found: [], left: [] };
    } catch (error) {
      // A value that must be unique is taken.
      if (!(error instanceof MigrationError && error.code === "N2I-E300")) throw error;
    }
    await savepoint("ROLLBACK TO SAVEPOINT before_rows");
  }
  return createMissing(writing, steps, owned);
}

/** By statements alone, which say of each row why it cannot be. */
async function createMissing(
  writing: Writing,
  steps: readonly Step[],
  owned: (id: string) => boolean,
): Promise<Outcome> {
  const { ironic, trx, making } = writing;
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
      `${counted(stale.length, "row is there and differs", "rows are there and differ")} from the plan: ${stale.slice(0, 5).join("; ")}`,
    );
  const skip = new Set([...found, ...changed.map(({ id }) => id)]);
  const missing = steps.filter(({ id, after }) => after !== null && !skip.has(id));
  if (missing.length > 0) {
    await making?.();
    await writeAll(writing, missing, insertRows);
  }
  return { done: missing.map(({ id }) => id), found, left: changed };
}
