import type { StoredTable } from "../../model/archive.ts";
import type { Engine } from "../../model/database.ts";
import type { StoredColumn } from "../../model/tables.ts";
import type { Database } from "../database/open.ts";
import { ask, integer, isTrue, string, text } from "../database/rows.ts";

/** What a table's columns are called by the server. */
interface Found {
  readonly name: string;
  /** `varchar(255)`, `timestamp without time zone`. */
  readonly native: string;
  readonly nullable: boolean;
  /** Whether it is of the primary key. */
  readonly key: boolean;
}

/** Tables of the database, views and the server's own not among them, by name. */
const TABLES = {
  mysql:
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY 1",
  // What the user may not read is listed, too, and refused when it is read.
  postgresql:
    "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p') ORDER BY 1",
  sqlite:
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1",
} as const;

/** Columns of one table, in their order. */
const COLUMNS = {
  mysql:
    "SELECT column_name AS name, column_type AS native, is_nullable = 'YES' AS nullable, column_key = 'PRI' AS pk FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position",
  postgresql:
    "SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS native, NOT a.attnotnull AS nullable, CASE WHEN a.attnum = ANY (i.indkey) THEN 1 ELSE 0 END AS pk FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary WHERE n.nspname = ANY (current_schemas(false)) AND c.relname = ? AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
  sqlite:
    'SELECT name, type AS native, "notnull" = 0 AS nullable, pk FROM pragma_table_info(?) ORDER BY cid',
} as const;

/** Every table of the database, whatever a fork or an operator added. */
export async function describeTables(database: Database): Promise<readonly StoredTable[]> {
  const names = (await ask(database, "listing tables", TABLES[database.engine])).map(({ name }) =>
    string(name),
  );
  const tables: StoredTable[] = [];
  for (const name of names) {
    const rows = await ask(database, `reading the columns of ${name}`, COLUMNS[database.engine], [
      name,
    ]);
    const found = rows.map(
      (row): Found => ({
        ...{ name: string(row.name), native: string(row.native) },
        ...{ nullable: isTrue(row.nullable), key: (integer(row.pk) ?? 0) > 0 },
      }),
    );
    tables.push({
      name,
      columns: found.map((column) => columnOf(database.engine, column)),
      primary: found.filter(({ key }) => key).map((column) => column.name),
    });
  }
  return tables;
}

/** The charset of bm_nodes on MySQL: what an empty database is to have for the same bytes. */
export async function charsetOfTables(database: Database): Promise<string | null> {
  if (database.engine !== "mysql") return null;
  const sql =
    "SELECT ccsa.character_set_name AS name FROM information_schema.tables t JOIN information_schema.collation_character_set_applicability ccsa ON ccsa.collation_name = t.table_collation WHERE t.table_schema = DATABASE() AND t.table_name = 'bm_nodes' LIMIT 1";
  const [row] = await ask(database, "reading charsets", sql);
  return text(row?.name);
}

function columnOf(engine: Engine, { name, native, nullable }: Found): StoredColumn {
  const type = typeOf(engine, native.toLowerCase());
  const [, length] = /\((\d+)\)/.exec(native) ?? [];
  return {
    ...{ name, type, null: nullable },
    ...(type === "string" && length !== undefined && { length: Number(length) }),
  };
}

/** Servers' types in our words. */
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

/** What has no word is read and kept as text; SQLite's without one keep whatever they are given. */
function typeOf(engine: Engine, native: string): StoredColumn["type"] {
  const known = WORDS.find(([form]) => form.test(native))?.[1];
  if (known !== undefined) return known;
  // A whole number of bits; PostgreSQL's are text.
  if (engine === "mysql" && native.startsWith("bit")) return "bigint";
  if (engine !== "sqlite" || /char|clob|text/.test(native)) return "longtext";
  return native === "" ? "bytes" : "numeric";
}
