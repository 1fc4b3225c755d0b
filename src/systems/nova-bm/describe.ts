import type { Database } from "../database/open.ts";
import { ask, string } from "../database/rows.ts";

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
  const tables: Awaited<ReturnType<typeof describe>>[] = [];
  for (const { name } of await ask(database, "listing tables", TABLES[database.engine]))
    tables.push(await describe(database, string(name)));
  return tables;
}

async function describe(database: Database, name: string) {
  const sql = COLUMNS[database.engine];
  const rows = await ask(database, `reading the columns of ${name}`, sql, [name]);
  const typeOf = (native: string) => TYPES.find(([form]) => form.test(native))?.[1] ?? null;
  const columns = rows.map((row) => ({
    ...{ name: string(row.name), type: typeOf(string(row.native).toLowerCase()) },
  }));
  return { name, columns };
}

/** Types of lease columns. */
const TYPES = [
  [/^(big|int\b.* unsigned)/, "bigint"],
  [/^(datetime|timestamp)/, "datetime"],
  [/^(var)?char.*\(\d+\)|^character.*\(\d+\)/, "string"],
] as const;
