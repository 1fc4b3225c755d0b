import { MigrationError } from "../../model/error.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, select } from "../database/rows.ts";
import { ALWAYS, unknownColumns } from "./columns.ts";

/** The shape of one nova_bm database. */
export interface NovaBmSchema {
  readonly version: number;
  readonly columns: { readonly [table: string]: readonly string[] };
  readonly unknown: { readonly [table: string]: readonly string[] };
  /** Rows of tables Ironic has no use for. */
  readonly ignored: { readonly [table: string]: number };
}

/** Tables that tell what a database really is. */
const SIGNS: readonly (readonly [string, string])[] = [
  ["conductors", "an Ironic database"],
  ["instances", "a nova database"],
  ["bm_nodes", "a nova_bm database"],
];

function whatItIs(tables: ReadonlySet<string>): string {
  if (tables.size === 0) return "empty";
  return SIGNS.find(([table]) => tables.has(table))?.[1] ?? "something else";
}

/** Version of a sqlalchemy-migrate repository; null when the database does not hold it. */
async function migrateVersion(database: Database, repository: string): Promise<number | null> {
  const rows = await database.run("reading migrate_version", () =>
    select(database, database.knex, "SELECT version FROM migrate_version WHERE repository_id = ?", [
      repository,
    ]),
  );
  return integer(rows[0]?.version);
}

/**
 * Looks at a nova_bm database and makes sure that it is one.
 *
 * @throws MigrationError N2I-E202 when it is another database, N2I-E203 for a version never released
 * @source facts/nova-bm.md 1.1, 1.2
 */
export async function readSchema(database: Database): Promise<NovaBmSchema> {
  const tables = await tableNames(database);
  const missing = ["bm_nodes", "bm_interfaces", "migrate_version"].filter(
    (table) => !tables.has(table),
  );
  if (missing.length > 0)
    throw new MigrationError(
      "N2I-E202",
      `--nova-bm-db ${database.shown} has no ${missing.join(", ")}: it is ${tables.has("bm_nodes") ? "a nova_bm database, but not whole, or its user may not read all of it" : whatItIs(tables)}`,
    );
  const version = await migrateVersion(database, "nova_bm");
  if (version === null || version < 1 || version > 10)
    throw new MigrationError(
      "N2I-E203",
      `--nova-bm-db ${database.shown} has nova_bm schema version ${version ?? "none"}`,
    );
  const columns: Record<string, readonly string[]> = {};
  for (const table of ["bm_nodes", "bm_interfaces"]) {
    const found = await columnNames(database, table);
    // Columns later versions added or dropped are optional; these every version has, but for uuid and instance_name.
    const lacking = (ALWAYS[table] ?? []).filter(
      (column) => !found.includes(column) && column !== "uuid" && column !== "instance_name",
    );
    if (lacking.length > 0)
      throw new MigrationError(
        "N2I-E203",
        `--nova-bm-db ${database.shown}: ${table} lacks ${lacking.join(", ")}`,
      );
    columns[table] = found;
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

async function countRows(database: Database, table: string): Promise<number> {
  const rows = await database.run(`counting ${table}`, () =>
    select(database, database.knex, `SELECT count(*) AS n FROM ${table}`),
  );
  return integer(rows[0]?.n) ?? 0;
}
