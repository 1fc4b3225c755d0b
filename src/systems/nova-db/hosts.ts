import type { HostUse } from "../../model/nova/nova-rows.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { keyed, read, sql } from "../database/read.ts";
import { number, string } from "../database/rows.ts";

/** Kilo added the host to the row. Older rows have only a service. @param column to select by */
export async function computeHosts(
  database: Database,
  column?: "id",
): Promise<{ readonly byHost: boolean; readonly host: string; readonly from: string }> {
  const byHost = (await columnNames(database, "compute_nodes")).includes("host");
  const computes =
    column === undefined ? "compute_nodes c" : await keyed(database, "compute_nodes", column, "c");
  return {
    byHost,
    host: byHost ? "coalesce(c.host, s.host)" : "s.host",
    from: `${computes} ${byHost ? "LEFT " : ""}JOIN services s ON s.id = c.service_id AND s.deleted = 0`,
  };
}

export async function useOf(
  database: Database,
  hosts: readonly string[],
): Promise<ReadonlyMap<string, HostUse>> {
  const { host, from } = await computeHosts(database);
  const count = async (owner: string, rows: string): Promise<ReadonlyMap<string, number>> => {
    const fields = { owner: sql(owner, string), rows: sql("count(*)", number) };
    const selection = `${rows} AND ${owner} IN (...) GROUP BY ${owner}`;
    const found = await read(database, fields, selection, hosts);
    return new Map(found.map((row) => [row.owner, row.rows]));
  };
  const instances = await count("host", "instances WHERE deleted = 0");
  const computes = await count(host, `${from} WHERE c.deleted = 0`);
  const useIn = (name: string): HostUse => ({
    instances: instances.get(name) ?? 0,
    computes: computes.get(name) ?? 0,
  });
  return new Map(hosts.map((name) => [name, useIn(name)]));
}
