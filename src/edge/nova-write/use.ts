import type { Knex } from "knex";
import type { HostUse } from "../../model/nova-rows.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, type RawRow, select, text } from "../database/rows.ts";

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
  if (hosts.length === 0) return new Map();
  const { host, from } = await computeHosts(database);
  const count = async (table: string, sql: string): Promise<readonly RawRow[]> =>
    database.run(`reading ${table}`, () => select(database, on, sql, hosts));
  const instances = await count(
    "instances",
    `SELECT host, count(*) AS n FROM instances WHERE deleted = 0 AND host IN (${marks(hosts)}) GROUP BY host`,
  );
  const computes = await count(
    "compute_nodes",
    `SELECT ${host} AS host, count(*) AS n FROM ${from} WHERE c.deleted = 0 AND ${host} IN (${marks(hosts)}) GROUP BY ${host}`,
  );
  const of = (rows: readonly RawRow[], name: string): number =>
    integer(rows.find((row) => text(row.host) === name)?.n) ?? 0;
  return new Map(
    hosts.map((name) => [name, { instances: of(instances, name), computes: of(computes, name) }]),
  );
}
