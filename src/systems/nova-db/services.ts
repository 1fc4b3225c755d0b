import type { ComputeHost } from "../../model/nova/host-move.ts";
import type { HostBeat } from "../../model/nova/nova-plan.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { quoted, read, sql } from "../database/read.ts";
import { ageOf, boolean, integer, number, string, text, time } from "../database/rows.ts";

/** The FROM clause for live nova-compute services. */
export function computeServices({ engine }: Pick<Database, "engine">): string {
  return `services WHERE deleted = 0 AND ${quoted(engine, "binary")} = 'nova-compute'`;
}

/** Heartbeats of these hosts, or of all. */
type AskBeats = (hosts?: readonly string[]) => Promise<readonly HostBeat[]>;

/** Reads the columns once for repeated queries. */
export async function openBeats(database: Database): Promise<AskBeats> {
  const { seen, at } = await reports(database);
  const beat = beatFields(database, seen, at);
  return (hosts) => {
    const some = hosts === undefined ? "" : "AND host IN (...)";
    return read(database, beat, `${computeServices(database)} ${some} ORDER BY id`, hosts);
  };
}

export async function readBeats(
  database: Database,
  hosts?: readonly string[],
): Promise<readonly HostBeat[]> {
  return (await openBeats(database))(hosts);
}

function beatFields({ engine }: Database, seen: boolean, at: string) {
  return {
    ...{ id: number, host: string, report_count: integer },
    last_seen_up: sql(seen ? "last_seen_up" : "NULL", time),
    age: sql(ageOf(engine, at), integer),
  };
}

type AskServices = (host?: string) => Promise<readonly ComputeHost[]>;

/** Reads the columns once for repeated queries. */
export async function openServices(database: Database): Promise<AskServices> {
  const { seen, at } = await reports(database);
  const forced = (await columnNames(database, "services")).includes("forced_down");
  const fields = {
    ...beatFields(database, seen, at),
    ...{ disabled: boolean, disabled_reason: text },
    forced_down: sql(forced ? "forced_down" : "NULL", (value) =>
      forced ? boolean(value) : undefined,
    ),
  };
  const live = computeServices(database);
  return (host) =>
    host === undefined
      ? read(database, fields, `${live} ORDER BY id`)
      : read(database, fields, `${live} AND host = ? ORDER BY id`, [host]);
}

export async function readComputeHosts(database: Database): Promise<readonly ComputeHost[]> {
  return (await openServices(database))();
}

/** SQL for the time of the last heartbeat. `last_seen_up` exists since Liberty. */
async function reports(database: Database) {
  const seen = (await columnNames(database, "services")).includes("last_seen_up");
  return { seen, at: seen ? "COALESCE(last_seen_up, updated_at)" : "updated_at" };
}
