import { BATCH } from "../../lib/streams.ts";
import { type LegacyNode, MIGRATING } from "../../model/nova/legacy-move.ts";
import type { Database } from "../../systems/database/open.ts";
import { read } from "../../systems/database/read.ts";
import { number, spellings, string, text } from "../../systems/database/rows.ts";
import { clockOf, isUnanswered, stated } from "../../systems/database/statement.ts";

const NODE = {
  ...{ id: number, uuid: string, service_host: text, service_epoch: number, task_state: text },
  ...{ prev_task_state: text, instance_uuid: text },
};

/** The condition of live rows of nova_bm. */
export function live({ engine }: Pick<Database, "engine">): string {
  return engine === "postgresql" ? "NOT deleted" : "deleted = 0";
}

export async function nodesById(
  database: Database,
  ids: readonly number[],
): Promise<ReadonlyMap<number, LegacyNode>> {
  const rows = await read(database, NODE, `bm_nodes WHERE ${live(database)} AND id IN (...)`, ids);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Live machines of a host with a uuid, in pages. */
export async function* nodesOf(
  database: Database,
  host: string,
): AsyncGenerator<readonly LegacyNode[]> {
  const mine = `bm_nodes WHERE ${live(database)} AND uuid IS NOT NULL AND service_host = ?`;
  for (let after = 0; ; ) {
    const from = `${mine} AND id > ${after} ORDER BY id LIMIT ${BATCH}`;
    const rows = await read(database, NODE, from, [host]);
    if (rows.length > 0) yield rows;
    if (rows.length < BATCH) return;
    after = rows.at(-1)?.id ?? after;
  }
}

export async function ownersAmong(
  database: Database,
  hosts: readonly string[],
): Promise<readonly string[]> {
  const mine = `bm_nodes WHERE ${live(database)} AND uuid IS NOT NULL AND service_host IN (...) GROUP BY service_host`;
  const rows = await read(database, { service_host: string }, mine, hosts);
  return rows.map(({ service_host }) => service_host);
}

/** Live machines by uuid, ignoring case. */
export function nodesByUuid(
  database: Database,
  uuids: readonly string[],
): Promise<readonly LegacyNode[]> {
  const lowerUuids = uuids.map((uuid) => uuid.toLowerCase());
  const from = `bm_nodes WHERE ${live(database)} AND LOWER(uuid) IN (...) ORDER BY id`;
  return read(database, NODE, from, lowerUuids);
}

/** The hosts of the machines of these instances. */
export function instanceOwners(database: Database, instances: readonly string[]) {
  const from = `bm_nodes WHERE ${live(database)} AND instance_uuid IN (...)`;
  return read(database, { instance_uuid: string, service_host: text }, from, spellings(instances));
}

interface Claim {
  readonly to: string;
  /** The task_state to restore afterwards. */
  readonly prev: string | null;
  /** Minimum milliseconds without a heartbeat of the host; absent: no check. */
  readonly silent?: number | undefined;
  /** The host whose agent claims the machine: nothing after its lease is fenced. */
  readonly agent?: string | undefined;
}

/**
 * A single statement compares the whole observed row. @returns the new epoch, or null
 *
 * @source systems.md A4
 */
export async function claimNode(
  database: Database,
  node: LegacyNode,
  { to, prev, silent, agent }: Claim,
): Promise<number | null> {
  const { id, service_host, service_epoch, task_state, prev_task_state, instance_uuid } = node;
  const { engine, knex } = database;
  const now = clockOf(engine);
  const observed = { service_host, service_epoch, task_state, prev_task_state, instance_uuid };
  const claimed = { service_host: to, task_state: MIGRATING };
  const claim = knex("bm_nodes")
    .where({ id, ...observed })
    .whereRaw(live(database))
    .update({ ...claimed, prev_task_state: prev, service_epoch: knex.raw("service_epoch + 1") });
  // A heartbeat in the future is from a wrong clock (`lasts`).
  if (silent !== undefined)
    claim.whereRaw(
      `(service_heartbeat_ms IS NULL OR service_heartbeat_ms < ${now} - ${silent} OR service_heartbeat_ms > ${now} + ${silent})`,
    );
  if (agent === to)
    claim.whereRaw(
      "NOT EXISTS (SELECT 1 FROM bm_service_leases WHERE host = ? AND fenced_by IS NOT NULL)",
      agent,
    );
  const epoch = service_epoch + 1;
  const done = { ...node, ...claimed, service_epoch: epoch };
  return (await changed(database, "claiming a machine", claim, done)) ? epoch : null;
}

/** Restores a machine's task_state after its move. @returns false if the row has changed */
export function releaseNode(
  database: Database,
  node: LegacyNode,
  task_state: string | null,
): Promise<boolean> {
  const { id, service_host, service_epoch } = node;
  const release = database
    .knex("bm_nodes")
    .where({ id, service_host, service_epoch, task_state: MIGRATING })
    .whereRaw(live(database))
    .update({ task_state, prev_task_state: null });
  return changed(database, "releasing a machine", release, { ...node, task_state });
}

/** Whether the statement changed the row. If no answer arrives, the row is read afterwards. */
async function changed(
  database: Database,
  doing: string,
  change: Pick<ReturnType<Database["knex"]["queryBuilder"]>, "toSQL">,
  after: LegacyNode,
): Promise<boolean> {
  const { sql, bindings } = change.toSQL();
  const count = await settled(stated(database, doing, sql, bindings));
  if (count !== null) return count === 1;
  const touch = "UPDATE bm_nodes SET task_state = task_state WHERE id = ?";
  await stated(database, "waiting for a machine's row", touch, [after.id]);
  const now = (await nodesById(database, [after.id])).get(after.id);
  const names = ["service_host", "service_epoch", "task_state"] as const;
  return names.every((name) => now?.[name] === after[name]);
}

/** The row count. Null if no answer arrived, so that the row must be read. */
export function settled(statement: Promise<number>): Promise<number | null> {
  return statement.catch((error: unknown) => {
    if (!isUnanswered(error)) throw error;
    return null;
  });
}
