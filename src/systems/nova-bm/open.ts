import { MigrationError } from "../../lib/error.ts";
import type { BmFacts } from "../../model/check.ts";
import { isExtended, withoutLeases } from "../../model/nova/leases.ts";
import { createTextSet, type TextSet } from "../../model/rows.ts";
import { mayBeLive, softDeleted } from "../database/deleted.ts";
import { columnNames, needColumns, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { inOrder, sql } from "../database/read.ts";
import { askNumber, countRows, number, string, text } from "../database/rows.ts";
import { ALWAYS, unknownColumns } from "./columns.ts";

function whatItIs(tables: ReadonlySet<string>): string {
  if (tables.size === 0) return "empty";
  if (tables.has("conductors")) return "an Ironic database";
  return tables.has("instances") ? "a nova database" : "something else";
}

/**
 * @throws MigrationError N2I-E202 for another database, N2I-E203 for an unknown version
 * @source facts/nova-bm.md 1.1, 1.2
 */
export async function readSchema(database: Database) {
  const tables = await tableNames(database);
  const missing = ["bm_nodes", "bm_interfaces", "migrate_version"].filter(
    (table) => !tables.has(table),
  );
  if (missing.length > 0)
    throw new MigrationError(
      "N2I-E202",
      `--nova-bm-db ${database.label} has no ${missing.join(", ")}: it is ${tables.has("bm_nodes") ? "a nova_bm database, but incomplete, or its user may not read all of it" : whatItIs(tables)}`,
    );
  // Does not read alembic_version, which this user may not be allowed to read.
  const sql = "SELECT version FROM migrate_version WHERE repository_id = 'nova_bm'";
  const version = await askNumber(database, "reading migrate_version", sql);
  if (version === null || version < 1 || version > 10)
    throw new MigrationError(
      "N2I-E203",
      `--nova-bm-db ${database.label} has ${version === null ? "no row of nova_bm in migrate_version" : `nova_bm schema version ${version}`}`,
    );
  const columns: Record<string, readonly string[]> = {};
  for (const [table, always] of Object.entries(ALWAYS)) {
    // uuid and instance_name are missing in some versions.
    const needed = always.filter((name) => name !== "uuid" && name !== "instance_name");
    await needColumns(database, "--nova-bm-db", { [table]: needed });
    const found = await columnNames(database, table);
    // Lease columns change with every heartbeat and do not describe the machine.
    columns[table] = isExtended(tables, found) ? withoutLeases(found) : found;
  }
  const ignored: Record<string, number> = {};
  for (const table of ["bm_pxe_ips", "bm_deployments"])
    if (tables.has(table)) ignored[table] = await countRows(database, table);
  return {
    version,
    columns,
    unknown: Object.fromEntries(
      Object.entries(columns).map(([table, found]) => [table, unknownColumns(table, found)]),
    ),
    ignored,
  };
}

/** @throws MigrationError N2I-E202, N2I-E203, N2I-E206 */
export async function checkNovaBm(database: Database): Promise<BmFacts> {
  const { version, columns } = await readSchema(database);
  const node = {
    // Schema versions before 3 have no uuid.
    ...{ id: number, uuid: sql(columns.bm_nodes?.includes("uuid") ? "uuid" : "NULL", text) },
    ...{ service_host: text, instance_uuid: text, task_state: text, deleted: softDeleted },
  };
  const nodes: BmFacts["nodes"][number][] = [];
  for await (const rows of inOrder(database, node, "bm_nodes", mayBeLive()))
    for (const { deleted, instance_uuid: uuid, ...row } of rows)
      if (deleted !== true) nodes.push({ ...row, instance_uuid: uuid?.trim() || null });
  return { version, nodes };
}

/** Read separately, so machines may have changed. @source facts/nova-bm.md 1.3 */
export async function claimedInstances(database: Database): Promise<TextSet> {
  const distinct = createTextSet();
  const where = "instance_uuid IS NOT NULL";
  for await (const page of inOrder(database, { instance_uuid: string }, "bm_nodes", where))
    for (const { instance_uuid } of page) distinct.add(instance_uuid);
  return distinct;
}
