import { MigrationError } from "../../lib/error.ts";
import type { BmFacts } from "../../model/check.ts";
import { isExtended, withoutLeases } from "../../model/nova/leases.ts";
import { createTextSet, type TextSet } from "../../model/rows.ts";
import { mayBeLive, softDeleted } from "../database/deleted.ts";
import { columnNames, needColumns, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { inOrder, sql } from "../database/read.ts";
import { ask, askNumber, countRows, number, string, text } from "../database/rows.ts";
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

/** Without views and system tables. */
const TABLES = {
  mysql:
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY 1",
  // Includes unreadable tables, whose reading then fails.
  postgresql:
    "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p') ORDER BY 1",
  sqlite:
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1",
} as const;

const COLUMNS = {
  mysql:
    "SELECT column_name AS name, column_type AS native FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position",
  postgresql:
    "SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS native FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relname = ? AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
  sqlite: "SELECT name, type AS native FROM pragma_table_info(?) ORDER BY cid",
} as const;

/** Includes tables that a fork or operator added. The type of other columns is null. */
export async function describeTables(database: Database) {
  const tables = [];
  for (const { name } of await ask(database, "listing tables", TABLES[database.engine])) {
    const doing = `reading the columns of ${string(name)}`;
    const rows = await ask(database, doing, COLUMNS[database.engine], [name]);
    const columns = rows.map(({ name, native }) => {
      const type = string(native).toLowerCase();
      return { name: string(name), type: TYPES.find(([form]) => form.test(type))?.[1] ?? null };
    });
    tables.push({ name: string(name), columns });
  }
  return tables;
}

/** Types of lease columns. */
const TYPES = [
  [/^(big|int\b.* unsigned)/, "bigint"],
  [/^(datetime|timestamp)/, "datetime"],
  [/^(var)?char.*\(\d+\)|^character.*\(\d+\)/, "string"],
] as const;
