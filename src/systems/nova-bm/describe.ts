import type { Engine } from "../../model/database.ts";
import type { StoredColumn } from "../../model/tables.ts";
import type { Database } from "../database/open.ts";
import { ask, string } from "../database/rows.ts";

interface StoredTable {
  readonly name: string;
  readonly columns: readonly Pick<StoredColumn, "name" | "type">[];
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

/** Includes tables that a fork or operator added. */
export async function describeTables(database: Database): Promise<readonly StoredTable[]> {
  const names = (await ask(database, "listing tables", TABLES[database.engine])).map(({ name }) =>
    string(name),
  );
  const tables: StoredTable[] = [];
  for (const name of names) {
    const rows = await ask(database, `reading the columns of ${name}`, COLUMNS[database.engine], [
      name,
    ]);
    tables.push({
      name,
      columns: rows.map((row) => ({
        name: string(row.name),
        type: typeOf(database.engine, string(row.native).toLowerCase()),
      })),
    });
  }
  return tables;
}

const WORDS: readonly (readonly [RegExp, StoredColumn["type"]])[] = [
  [/^(tinyint\(1\)|bool)/, "boolean"],
  [/^(big|\w*int\b.* unsigned)/, "bigint"],
  [/^((tiny|small|medium)?int(eger)?\b|serial)/, "integer"],
  [/^double/, "double"],
  [/^(float|real)/, "float"],
  [/^(datetime|timestamp)/, "datetime"],
  [/blob|binary|bytea/, "bytes"],
  [/^(var)?char.*\(\d+\)|^character.*\(\d+\)/, "string"],
];

/** Other types become text. SQLite's untyped columns can store anything. */
function typeOf(engine: Engine, native: string): StoredColumn["type"] {
  const known = WORDS.find(([form]) => form.test(native))?.[1];
  if (known !== undefined) return known;
  // MySQL's BIT is an integer, PostgreSQL's is text.
  if (engine === "mysql" && native.startsWith("bit")) return "bigint";
  if (engine !== "sqlite" || /char|clob|text/.test(native)) return "longtext";
  return native === "" ? "bytes" : "numeric";
}
