import { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { Outcome } from "../../model/change.ts";
import { compareRow, sameSecret } from "../../model/compare.ts";
import { staged } from "../../model/handover.ts";
import type { Row } from "../../model/machine.ts";
import type { Step } from "../../model/plan.ts";
import { read } from "../database/read.ts";
import { number, string, text } from "../database/rows.ts";
import { type Ironic, insertTraits, readRows, toNode, toPort, traitsOf } from "./current.ts";
import { type bulkOf, insertRows, type NodeIds, type WriteRows } from "./insert.ts";

async function nodeIds({ database }: Ironic, uuids: readonly string[]): Promise<NodeIds> {
  const from = "{nodes.uuid} WHERE uuid IN (...)";
  const rows = await read(database, { id: number, uuid: string }, from, uuids);
  return new Map(rows.map(({ id, uuid }) => [uuid, id]));
}

function rowsOf(steps: readonly Step[], resource: Step["resource"]): readonly Row[] {
  const rows: Row[] = [];
  for (const step of steps)
    if (step.resource === resource && step.after !== null) rows.push(step.after);
  return rows;
}

interface Writing {
  readonly ironic: Ironic;
  /** Sets maintenance, as a staged load does. */
  readonly inMaintenance: boolean;
  /** Tried before INSERT statements. */
  readonly bulk: ReturnType<typeof bulkOf>;
  /** Runs before rows are written. An error prevents the write. */
  readonly making?: () => Promise<void>;
}

/** @returns false if this method could not write all rows */
async function writeAll(
  { ironic, inMaintenance }: Writing,
  steps: readonly Step[],
  write: WriteRows,
): Promise<boolean> {
  const rows = rowsOf(steps, "node");
  const ports = rowsOf(steps, "port");
  const made = await write(ironic, "nodes", inMaintenance ? rows.map(staged) : rows, null);
  if (made === null) return false;
  const missing = new Set(ports.map((row) => String(row.node_uuid)));
  for (const row of rows) if (traitsOf(row).length > 0) missing.add(String(row.uuid));
  for (const uuid of made.keys()) missing.delete(uuid);
  const ids = new Map([...made, ...(await nodeIds(ironic, [...missing]))]);
  if ((await write(ironic, "ports", ports, ids)) === null) return false;
  await insertTraits(ironic, rows, ids);
  return true;
}

/**
 * Whether our load wrote a changed row. A rolled-back batch leaves no rows, so another user may
 * have its uuid.
 */
function isLoaded(resource: Step["resource"], planned: Row, found: Row): boolean {
  if (resource === "port") return found.node_uuid === planned.node_uuid;
  const mark = ({ extra }: Row): unknown =>
    isObject(extra) && isObject(extra.nova_bm) ? extra.nova_bm.id : null;
  return mark(found) === mark(planned);
}

/**
 * A changed row is skipped if this tool loaded it. Otherwise the plan is stale and nothing is kept.
 *
 * @throws MigrationError N2I-E300 naming the rows and fields
 */
export async function createRows(
  writing: Writing,
  steps: readonly Step[],
  owned: (id: string) => boolean,
): Promise<Outcome> {
  const { ironic, bulk, making } = writing;
  const { run, knex } = ironic.database;
  if (!steps.some(({ id }) => owned(id))) {
    await making?.();
    // Usually no row exists, and the unique indexes detect it faster than a query.
    const savepoint = (sql: string) => run("a savepoint", () => knex.raw(sql));
    await savepoint("SAVEPOINT before_rows");
    try {
      const write = bulk?.works() ? bulk.write : insertRows;
      if (await writeAll(writing, steps, write))
        return { done: steps.map(({ id }) => id), found: [], skipped: [] };
    } catch (error) {
      // A unique value is in use.
      if (!(error instanceof MigrationError && error.code === "N2I-E300")) throw error;
    }
    await savepoint("ROLLBACK TO SAVEPOINT before_rows");
  }
  return createMissing(writing, steps, owned);
}

/** Uses INSERT only, whose errors name the row. */
async function createMissing(
  writing: Writing,
  steps: readonly Step[],
  owned: (id: string) => boolean,
): Promise<Outcome> {
  const { ironic, making } = writing;
  const same = sameSecret(ironic.seal);
  const planned = new Map(steps.map((step) => [step.id, step]));
  const uuidsOf = (resource: Step["resource"]): readonly string[] =>
    rowsOf(steps, resource).map(({ uuid }) => String(uuid));
  const existing = await readRows(ironic, uuidsOf("node"), uuidsOf("port"), true);
  const rows = [
    ...existing.nodes.map((raw) => ["node", raw] as const),
    ...existing.ports.map((raw) => ["port", raw] as const),
  ];
  const found: string[] = [];
  const changed: { readonly id: string; readonly reason: string }[] = [];
  const stale: string[] = [];
  for (const [resource, raw] of rows) {
    const id = `${resource}:${text(raw.uuid)}`;
    const after = planned.get(id)?.after ?? {};
    const row = resource === "node" ? toNode(ironic, raw) : toPort(ironic, raw);
    const { differs } = compareRow(after, row, same);
    const reason = differs.map(({ field }) => field).join(", ");
    if (differs.length === 0) found.push(id);
    else if (owned(id) && isLoaded(resource, after, row)) changed.push({ id, reason });
    else stale.push(`${id} (${reason})`);
  }
  if (stale.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `${counted(stale.length, "existing row differs", "existing rows differ")} from the plan: ${stale.slice(0, 5).join("; ")}`,
    );
  const skip = new Set([...found, ...changed.map(({ id }) => id)]);
  const missing = steps.filter(({ id, after }) => after !== null && !skip.has(id));
  if (missing.length > 0) {
    await making?.();
    await writeAll(writing, missing, insertRows);
  }
  return { done: missing.map(({ id }) => id), found, skipped: changed };
}
