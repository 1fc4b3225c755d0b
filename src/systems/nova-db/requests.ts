import { MigrationError } from "../../lib/error.ts";
import { isWaiting, type OpenRequest } from "../../model/nova/requests.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { read, sql } from "../database/read.ts";
import { ask, lower, number, spellings, string, time } from "../database/rows.ts";
import { computeServices } from "./services.ts";

export const REQUEST_TABLES = ["instance_actions", "instance_actions_events"] as const;

/**
 * Conductor, scheduler and API record earlier events of the same request.
 *
 * @source nova compute/utils.py wrap_instance_event; conductor/manager.py: schedule_instances, rebuild_server
 */
const STARTED = "e.event LIKE 'compute%'";

/** An instance and the host whose queue has its requests. */
interface Addressed {
  readonly uuid: string;
  readonly host: string | null;
}

/**
 * MySQL does not list unreadable tables. A query by name distinguishes a forbidden table from a
 * missing one.
 *
 * @throws MigrationError N2I-E206 naming the table
 */
export async function mustReadRequests(database: Database): Promise<void> {
  const tables = database.engine === "mysql" ? null : await tableNames(database);
  for (const table of REQUEST_TABLES) {
    if (tables?.has(table) === false) continue;
    const sql = `SELECT 1 FROM ${table} WHERE 1 = 0`;
    await ask(database, `reading ${table}`, sql).catch((error: unknown) => {
      if (!(error instanceof MigrationError && error.code === "N2I-E202")) throw error;
    });
  }
}

/**
 * A nova-compute executes the requests in its queue when it starts, on the instance's former
 * machine. Empty if the tables are missing.
 */
export async function waitingRequests(database: Database, instances: readonly Addressed[]) {
  const waiting = new Map<string, readonly OpenRequest[]>();
  const tables = await tableNames(database);
  const readable = REQUEST_TABLES.every((table) => tables.has(table));
  if (!readable || instances.length === 0) return waiting;
  const uuids = spellings(instances.map(({ uuid }) => uuid));
  const [actions, events] = [
    "{instance_actions.instance_uuid a}",
    "{instance_actions_events.action_id e}",
  ];
  const open = await read(
    database,
    {
      ...{ id: sql("a.id", number), instance: sql("a.instance_uuid", lower) },
      ...{ action: sql("a.action", string), start_time: sql("a.start_time", time) },
    },
    `${actions} LEFT JOIN ${events} ON e.action_id = a.id AND ${STARTED} WHERE a.deleted = 0 AND e.id IS NULL AND a.instance_uuid IN (...) ORDER BY a.id`,
    uuids,
  );
  if (open.length === 0) return waiting;
  const startedRows = await read(
    database,
    { instance: sql("a.instance_uuid", lower), id: sql("max(a.id)", number) },
    `${events} JOIN ${actions} ON e.action_id = a.id WHERE ${STARTED} AND a.instance_uuid IN (...) GROUP BY a.instance_uuid`,
    uuids,
  );
  const last = new Map(startedRows.map((row) => [row.instance, row.id]));
  const heartbeats = await lastHeartbeat(database, instances);
  for (const { uuid, host } of instances) {
    const key = uuid.toLowerCase();
    const pending = open
      .filter(({ instance }) => instance === key)
      .map(({ id, action, start_time: at }) => ({
        ...{ action, at },
        overtaken: id < (last.get(key) ?? 0),
      }))
      .filter((request) => host !== null && isWaiting(request, heartbeats.get(host) ?? null));
    if (pending.length > 0) waiting.set(key, pending);
  }
  return waiting;
}

/** The last heartbeat by host. Unknown before Liberty. */
async function lastHeartbeat(
  database: Database,
  instances: readonly Addressed[],
): Promise<ReadonlyMap<string, string | null>> {
  if (!(await columnNames(database, "services")).includes("last_seen_up")) return new Map();
  const hosts = [...new Set(instances.flatMap(({ host }) => host ?? []))];
  const services = `${computeServices(database)} AND host IN (...)`;
  const rows = await read(database, { host: string, last_seen_up: time }, services, hosts);
  return new Map(rows.map((row) => [row.host, row.last_seen_up]));
}
