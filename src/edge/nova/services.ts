import type { HostBeat } from "../../model/nova-plan.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { quoted, read, sql } from "../database/read.ts";
import { ageOf, integer, number, string, time } from "../database/rows.ts";

/** Live nova-compute services, as the beginning of a question. */
export function computeServices({ engine }: Pick<Database, "engine">): string {
  return `services WHERE deleted = 0 AND ${quoted(engine, "binary")} = 'nova-compute'`;
}

/**
 * What nova-compute services say of themselves now.
 *
 * @param hosts those of them; without it all
 */
export async function readBeats(
  database: Database,
  hosts?: readonly string[],
): Promise<readonly HostBeat[]> {
  const seen = (await columnNames(database, "services")).includes("last_seen_up");
  const at = seen ? "COALESCE(last_seen_up, updated_at)" : "updated_at";
  const beat = {
    ...{ id: number, host: string, report_count: integer },
    last_seen_up: sql(seen ? "last_seen_up" : "NULL", time),
    age: sql(ageOf(database.engine, at), integer),
  };
  const some = hosts === undefined ? "" : "AND host IN (...)";
  return read(database, beat, `${computeServices(database)} ${some} ORDER BY id`, hosts);
}
