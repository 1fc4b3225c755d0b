import { grouped } from "../../lib/grouped.ts";
import type { OwnedCompute, Tenant } from "../../model/nova/host-move.ts";
import type { HostUse } from "../../model/nova/nova-plan.ts";
import type { ComputeLocation, ComputeRow, ComputeSize } from "../../model/nova/nova-rows.ts";
import { deletedNumber } from "../database/deleted.ts";
import { columnNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { type Fields, indexByText, type RowOf, read, sql } from "../database/read.ts";
import { integer, lower, number, string, text } from "../database/rows.ts";

type ByNode<T> = (nodes: readonly string[]) => Promise<ReadonlyMap<string, readonly T[]>>;

interface Naming {
  readonly table: "compute_nodes" | "instances";
  readonly column: "hypervisor_hostname" | "node";
  /** Condition for relevant rows, with unqualified columns. */
  readonly live: string;
  /** The FROM clause for reading rows by id. Default: the table with `live`. */
  readonly again?: string;
}

/** Finds rows by node, a column without an index, and reads them again by id. */
async function openByNode<F extends Fields>(
  database: Database,
  { table, column, live, again }: Naming,
  fields: F,
): Promise<ByNode<RowOf<F>>> {
  const some = `${live} AND ${column} IS NOT NULL`;
  const idsOf = await indexByText(database, table, column, some);
  const from = again ?? `{${table}.id} WHERE ${live} AND id`;
  return async (nodes) => {
    const rows = await read(database, fields, `${from} IN (...) ORDER BY 1`, idsOf(nodes));
    return grouped(rows, (row) => lower(row[column]));
  };
}

const COMPUTES: Naming = {
  ...{ table: "compute_nodes", column: "hypervisor_hostname", live: "deleted = 0" },
};
const COMPUTE = { id: number, hypervisor_hostname: string, hypervisor_type: text };

/** Rows as a plan has them. */
export async function openComputeRows(database: Database): Promise<ByNode<ComputeRow>> {
  const { byHost } = await computeHosts(database);
  const fields = {
    ...{ id: number, service_id: integer },
    ...(byHost && { host: text }),
    ...{ hypervisor_hostname: string, deleted: deletedNumber, deleted_at: text },
  };
  const live = "deleted = 0 AND hypervisor_hostname <> ''";
  return openByNode(database, { ...COMPUTES, live }, fields);
}

type Compute = ComputeSize & ComputeLocation & { readonly located: number | null };

/** Rows with their sizes and hosts. `located` is null for a row of Juno without a service. */
export async function openComputes(database: Database): Promise<ByNode<Compute>> {
  const { byHost, host, all } = await computeHosts(database, "id");
  const fields = {
    ...{ ...COMPUTE, id: sql("c.id", number), host: sql(host, text) },
    ...{ vcpus: integer, memory_mb: integer, local_gb: integer },
    located: sql(byHost ? "1" : "s.id", integer),
  };
  return openByNode(
    database,
    { ...COMPUTES, again: `${all} WHERE c.deleted = 0 AND c.id` },
    fields,
  );
}

/** Those rows with a host, of the drivers that own machines. */
export function locationsIn(computesOf: ByNode<Compute>): ByNode<ComputeLocation> {
  const isOwner = ({ hypervisor_type, located }: Compute): boolean =>
    located !== null && (hypervisor_type === "ironic" || hypervisor_type === "baremetal");
  return async (nodes) => {
    const found = await computesOf(nodes);
    return new Map([...found].map(([node, rows]) => [node, rows.filter(isOwner)]));
  };
}

export async function openLocations(database: Database): Promise<ByNode<ComputeLocation>> {
  return locationsIn(await openComputes(database));
}

/**
 * Deleted after this second, because an earlier plan may have deleted rows in the same second.
 *
 * @param since naive UTC, as Nova writes it
 */
export async function openDeleted(database: Database, since: string): Promise<ByNode<number>> {
  const live = `deleted <> 0 AND deleted_at > '${since}'`;
  const again = "{compute_nodes.id} WHERE deleted <> 0 AND id";
  const rowsOf = await openByNode(database, { ...COMPUTES, live, again }, COMPUTE);
  return async (nodes) =>
    new Map([...(await rowsOf(nodes))].map(([node, rows]) => [node, rows.map(({ id }) => id)]));
}

export async function openOwners(database: Database): Promise<ByNode<OwnedCompute>> {
  const { from, fields } = await ownedComputes(database, "id");
  return openByNode(database, { ...COMPUTES, again: `${from} AND c.id` }, fields);
}

/** Live rows with their hosts. @param column to select by */
export async function ownedComputes(database: Database, column?: "id") {
  const { host, from, byHost } = await computeHosts(database, column);
  const fields = {
    ...{ ...COMPUTE, id: sql("c.id", number), service_id: sql("c.service_id", integer) },
    ...(byHost && { host: sql("c.host", text) }),
    owner: sql(host, text),
    ...{ deleted: sql("c.deleted", deletedNumber), deleted_at: sql("c.deleted_at", text) },
  };
  return { from: `${from} WHERE c.deleted = 0`, fields };
}

export function openTenants(database: Database): Promise<ByNode<Tenant>> {
  const instances: Naming = { table: "instances", column: "node", live: "deleted = 0" };
  return openByNode(database, instances, {
    ...{ id: number, uuid: string, host: text, node: text, task_state: text, vm_state: text },
    deleted: deletedNumber,
  });
}

/** Kilo added the host to the row. Older rows have only a service. @param column to select by */
export async function computeHosts(database: Database, column?: "id") {
  const byHost = (await columnNames(database, "compute_nodes")).includes("host");
  const computes = column === undefined ? "compute_nodes c" : `{compute_nodes.${column} c}`;
  const services = "JOIN services s ON s.id = c.service_id AND s.deleted = 0";
  const all = `${computes} LEFT ${services}`;
  return {
    ...{ byHost, host: byHost ? "coalesce(c.host, s.host)" : "s.host" },
    /** With rows of Juno without a service. */
    all,
    from: byHost ? all : `${computes} ${services}`,
  };
}

export async function useOf(database: Database, hosts: readonly string[]) {
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
