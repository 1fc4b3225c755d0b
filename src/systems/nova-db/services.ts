import type { ComputeHost } from "../../model/nova/host-move.ts";
import type { HostBeat } from "../../model/nova/nova-plan.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { type Fields, quoted, read, sql } from "../database/read.ts";
import { ageOf, boolean, integer, number, string, text, time } from "../database/rows.ts";

/** The FROM clause for live nova-compute services. */
export function computeServices({ engine }: Pick<Database, "engine">): string {
  return `services WHERE deleted = 0 AND ${quoted(engine, "binary")} = 'nova-compute'`;
}

/** For repeated queries of heartbeats. */
export async function openBeats(database: Database) {
  return serviceReader(database, await beatFields(database));
}

export async function readBeats(
  database: Database,
  hosts?: readonly string[],
): Promise<readonly HostBeat[]> {
  return (await openBeats(database))(hosts);
}

/** For repeated queries. */
export async function openServices(database: Database) {
  const forced = (await columnNames(database, "services")).includes("forced_down");
  return serviceReader(database, {
    ...(await beatFields(database)),
    ...{ disabled: boolean, disabled_reason: text },
    forced_down: sql(forced ? "forced_down" : "NULL", (value) =>
      forced ? boolean(value) : undefined,
    ),
  });
}

export async function readComputeHosts(database: Database): Promise<readonly ComputeHost[]> {
  return (await openServices(database))();
}

/** Reads services of these hosts, or of all. */
function serviceReader<F extends Fields>(database: Database, fields: F) {
  const live = computeServices(database);
  return (hosts?: readonly string[]) => {
    const some = hosts === undefined ? "" : "AND host IN (...)";
    return read(database, fields, `${live} ${some} ORDER BY id`, hosts);
  };
}

async function beatFields(database: Database) {
  const at = await lastReport(database);
  return {
    ...{ id: number, host: string, report_count: integer },
    last_seen_up: sql(at.includes("last_seen_up") ? "last_seen_up" : "NULL", time),
    age: sql(ageOf(database.engine, at), integer),
  };
}

/** SQL for the time of the last heartbeat. `last_seen_up` exists since Liberty. */
export async function lastReport(database: Database): Promise<string> {
  const hasColumn = (await columnNames(database, "services")).includes("last_seen_up");
  return hasColumn ? "COALESCE(last_seen_up, updated_at)" : "updated_at";
}
