import type { ComputeHost } from "../../model/nova/host-move.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { read, sql } from "../database/read.ts";
import { ageOf, boolean, integer, number, quoted, string, text, time } from "../database/rows.ts";

/** The FROM clause for live nova-compute services. */
export function computeServices({ engine }: Pick<Database, "engine">): string {
  return `services WHERE deleted = 0 AND ${quoted(engine, "binary")} = 'nova-compute'`;
}

/** For repeated queries, of these hosts or of all. */
export async function openServices(database: Database) {
  const at = await lastReport(database);
  const columns = await columnNames(database, "services");
  const forced = columns.includes("forced_down");
  const fields = {
    ...{ id: number, host: string, report_count: integer, disabled: boolean },
    // Since Havana.
    disabled_reason: sql(columns.includes("disabled_reason") ? "disabled_reason" : "NULL", text),
    last_seen_up: sql(at.includes("last_seen_up") ? "last_seen_up" : "NULL", time),
    age: sql(ageOf(database.engine, at), integer),
    forced_down: sql(forced ? "forced_down" : "NULL", (value) =>
      forced ? boolean(value) : undefined,
    ),
  };
  const live = computeServices(database);
  return (hosts?: readonly string[]): Promise<readonly ComputeHost[]> => {
    const some = hosts === undefined ? "" : "AND host IN (...)";
    return read(database, fields, `${live} ${some} ORDER BY id`, hosts);
  };
}

export async function readServices(database: Database, hosts?: readonly string[]) {
  return (await openServices(database))(hosts);
}

/** SQL for the time of the last heartbeat. `last_seen_up` exists since Liberty. */
export async function lastReport(database: Database): Promise<string> {
  const hasColumn = (await columnNames(database, "services")).includes("last_seen_up");
  return hasColumn ? "COALESCE(last_seen_up, updated_at)" : "updated_at";
}
