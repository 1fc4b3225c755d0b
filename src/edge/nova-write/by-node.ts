import { groupedBy } from "../../model/grouped.ts";
import type { ComputePlace, ComputeSize, InstanceRow } from "../../model/nova-rows.ts";
import { indexByText } from "../database/by-text.ts";
import type { Database } from "../database/open.ts";
import { askIn, integer, lower, type RawRow, text } from "../database/rows.ts";
import { computeHosts } from "./hosts.ts";

/** Rows by the node they name, lower case. */
type ByNode<T> = (nodes: readonly string[]) => Promise<ReadonlyMap<string, readonly T[]>>;

/** Which rows of a table name machines. */
interface Naming {
  readonly table: "compute_nodes" | "instances";
  readonly column: "hypervisor_hostname" | "node";
  /** Condition on the rows that count, for the table by its own name. */
  readonly live: string;
}

/**
 * Reads rows by the machine they name; neither column has an index of its own. Every row that was
 * found is looked at again by its id, as it is by then.
 *
 * @param sql what to select of rows by the condition it is given on their ids; it names the column too
 */
async function openByNode<T>(
  database: Database,
  { table, column, live: where }: Naming,
  sql: (ids: string) => string,
  of: (row: RawRow) => T,
): Promise<ByNode<T>> {
  const { knex } = database;
  const live = `${where} AND ${column} IS NOT NULL`;
  const placed = await indexByText(database, knex, table, column, live);
  return async (nodes) => {
    const rows = await askIn(database, `reading ${table}`, sql("IN (...)"), placed.ids(nodes));
    return groupedBy(rows, (row) => lower(row[column]), of);
  };
}

const COMPUTES = { table: "compute_nodes", column: "hypervisor_hostname" } as const;
const SIZES = "id, hypervisor_hostname, hypervisor_type, vcpus, memory_mb, local_gb";

/** Reads what Nova offers of machines: live compute nodes. */
export function openComputes(database: Database): Promise<ByNode<ComputeSize>> {
  return openByNode(
    database,
    { ...COMPUTES, live: "deleted = 0" },
    (ids) => `SELECT ${SIZES} FROM compute_nodes WHERE deleted = 0 AND id ${ids} ORDER BY id`,
    (row) => ({
      id: integer(row.id) ?? 0,
      hypervisor_type: text(row.hypervisor_type),
      vcpus: integer(row.vcpus),
      memory_mb: integer(row.memory_mb),
      local_gb: integer(row.local_gb),
    }),
  );
}

/**
 * Reads which compute nodes of machines were deleted since a moment.
 *
 * @param since naive UTC, as Nova writes it
 */
export function openDeleted(database: Database, since: string): Promise<ByNode<number>> {
  return openByNode(
    database,
    { ...COMPUTES, live: `deleted <> 0 AND deleted_at >= '${since}'` },
    (ids) =>
      `SELECT id, hypervisor_hostname FROM compute_nodes WHERE deleted <> 0 AND id ${ids} ORDER BY id`,
    (row) => integer(row.id) ?? 0,
  );
}

/** Reads where nova-computes with a driver for machines offer them: live rows. */
export async function openPlaces(database: Database): Promise<ByNode<ComputePlace>> {
  const { host, from } = await computeHosts(database);
  return openByNode(
    database,
    { ...COMPUTES, live: "deleted = 0 AND hypervisor_type IN ('ironic', 'baremetal')" },
    (ids) =>
      `SELECT c.id, c.hypervisor_hostname, c.hypervisor_type, ${host} AS host FROM ${from} WHERE c.deleted = 0 AND c.id ${ids} ORDER BY c.id`,
    (row) => ({
      id: integer(row.id) ?? 0,
      host: text(row.host),
      hypervisor_hostname: text(row.hypervisor_hostname) ?? "",
      hypervisor_type: text(row.hypervisor_type),
    }),
  );
}

/** Reads which live instances name nodes. */
export function openOnNodes(
  database: Database,
): Promise<ByNode<Pick<InstanceRow, "uuid" | "task_state">>> {
  return openByNode(
    database,
    { table: "instances", column: "node", live: "deleted = 0" },
    (ids) =>
      `SELECT uuid, node, task_state FROM instances WHERE deleted = 0 AND id ${ids} ORDER BY id`,
    (row) => ({ uuid: text(row.uuid) ?? "", task_state: text(row.task_state) }),
  );
}
