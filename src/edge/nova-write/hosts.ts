import type { Knex } from "knex";
import type { HostBeat } from "../../model/nova-plan.ts";
import type { HostUse } from "../../model/nova-rows.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { ageOf, askIn, integer, text, time } from "../database/rows.ts";

/**
 * How a row of compute_nodes names its host, in SQL: Kilo names it in the row itself; rows it did not
 * write yet still have their service alone.
 */
export async function computeHosts(
  database: Database,
): Promise<{ readonly byHost: boolean; readonly host: string; readonly from: string }> {
  const byHost = (await columnNames(database, "compute_nodes")).includes("host");
  return {
    byHost,
    host: byHost ? "coalesce(c.host, s.host)" : "s.host",
    from: `compute_nodes c ${byHost ? "LEFT " : ""}JOIN services s ON s.id = c.service_id AND s.deleted = 0`,
  };
}

/** Live instances and compute nodes of hosts, whoever they belong to. */
export async function useOf(
  database: Database,
  on: Knex,
  hosts: readonly string[],
): Promise<ReadonlyMap<string, HostUse>> {
  const { host, from } = await computeHosts(database);
  const count = async (table: string, sql: string): Promise<ReadonlyMap<string | null, number>> => {
    const rows = await askIn(database, `reading ${table}`, sql, hosts, on);
    return new Map(rows.map((row) => [text(row.host), integer(row.n) ?? 0]));
  };
  const instances = await count(
    "instances",
    "SELECT host, count(*) AS n FROM instances WHERE deleted = 0 AND host IN (...) GROUP BY host",
  );
  const computes = await count(
    "compute_nodes",
    `SELECT ${host} AS host, count(*) AS n FROM ${from} WHERE c.deleted = 0 AND ${host} IN (...) GROUP BY ${host}`,
  );
  const useIn = (name: string): HostUse => ({
    instances: instances.get(name) ?? 0,
    computes: computes.get(name) ?? 0,
  });
  return new Map(hosts.map((name) => [name, useIn(name)]));
}

/** What the nova-compute services of hosts say of themselves now. */
export async function beatsOf(
  database: Database,
  hosts: readonly string[],
): Promise<readonly HostBeat[]> {
  const { knex, engine } = database;
  const seen = (await columnNames(database, "services")).includes("last_seen_up");
  const at = seen ? "COALESCE(last_seen_up, updated_at)" : "updated_at";
  const columns = `id, host, report_count, ${seen ? "last_seen_up, " : ""}${ageOf(engine, at)} AS age`;
  const sql = `SELECT ${columns} FROM services WHERE ${knex.ref("binary")} = 'nova-compute' AND deleted = 0 AND host IN (...) ORDER BY id`;
  const rows = await askIn(database, "reading services", sql, hosts);
  return rows.map((row) => ({
    id: integer(row.id) ?? 0,
    host: text(row.host) ?? "",
    report_count: integer(row.report_count),
    last_seen_up: time(row.last_seen_up),
    age: integer(row.age),
  }));
}
