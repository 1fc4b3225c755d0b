import { isUtf8, type StoredText } from "../../model/charset.ts";
import { keyed } from "./keyed.ts";
import type { Database } from "./open.ts";
import { ask, askNumber, inPortions, marks, string, text } from "./rows.ts";

/** How each engine says that a text is not plain ASCII. */
const ODD: { readonly [engine in Database["engine"]]: (column: string) => string } = {
  mysql: (column) => `${column} REGEXP '[^ -~]'`,
  postgresql: (column) => `${column} ~ '[^\\x20-\\x7e]'`,
  sqlite: (column) => `${column} GLOB '*[^ -~]*'`,
};

/** Columns of a table that are looked at, and which of its rows count. */
interface Inspected {
  readonly table: string;
  readonly columns: readonly string[];
  /** SQL that holds for the rows that count. */
  readonly where?: string;
  /** And which of them, by a column's values; without it all. */
  readonly of?: { readonly column: string; readonly values: () => Iterable<string> };
}

export function isNotAscii({ engine, knex }: Database, column: string): string {
  return ODD[engine](`${knex.ref(column)}`);
}

/**
 * How a server keeps these columns, those of them that are there. Rows are counted only where a
 * charset is none of Unicode, as every character is safe in the others.
 */
export async function storedTexts(
  database: Database,
  inspected: readonly Inspected[],
): Promise<readonly StoredText[]> {
  const found: StoredText[] = [];
  const kept = await keptIn(database, inspected);
  for (const one of inspected)
    for (const column of one.columns) {
      const as = kept(one.table, column);
      if (as === undefined) continue;
      const odd = isUtf8(as.charset) ? 0 : await oddRows(database, one, column);
      found.push({ table: one.table, column, ...as, odd });
    }
  return found;
}

/** The charsets of the columns of tables; on PostgreSQL the server's encoding; none on SQLite. */
export async function charsetsOf(
  database: Database,
  tables: readonly string[],
): Promise<readonly string[]> {
  const from = {
    mysql: `information_schema.columns WHERE table_schema = DATABASE() AND table_name IN (${marks(tables)}) AND character_set_name IS NOT NULL ORDER BY 1`,
    postgresql: "current_setting('server_encoding') AS character_set_name",
    sqlite: null,
  }[database.engine];
  if (from === null) return [];
  const sql = `SELECT DISTINCT character_set_name AS name FROM ${from}`;
  const values = database.engine === "mysql" ? tables : [];
  return (await ask(database, "reading charsets", sql, values)).map(({ name }) => string(name));
}

type Kept = Pick<StoredText, "charset" | "own">;

async function keptIn(
  database: Database,
  inspected: readonly Inspected[],
): Promise<(table: string, column: string) => Kept | undefined> {
  // SQLite keeps text in UTF-8 whatever is said.
  if (database.engine === "sqlite") return () => undefined;
  const { schema, what } = {
    mysql: {
      schema: "DATABASE()",
      what: "character_set_name AS charset, collation_name AS own, column_type AS kind, is_nullable AS empty",
    },
    postgresql: {
      schema: "ANY (current_schemas(false))",
      what: "current_setting('server_encoding') AS charset",
    },
  }[database.engine];
  const tables = inspected.map(({ table }) => table);
  const sql = `SELECT table_name AS tab, column_name AS col, ${what} FROM information_schema.columns WHERE table_schema = ${schema} AND table_name IN (${marks(tables)})`;
  const rows = await ask(database, "reading charsets", sql, tables);
  const found = new Map(
    rows.flatMap((row): readonly (readonly [string, Kept])[] => {
      const name = text(row.charset);
      if (name === null) return [];
      const place = `${text(row.tab)}.${text(row.col)}`;
      if (database.engine === "postgresql") return [[place, { charset: named(name), own: null }]];
      // Servers before MariaDB 10.6 and MySQL 8.0.28 call utf8mb3 utf8.
      const charset = name.replace(/^utf8$/, "utf8mb3");
      const own = { collation: text(row.own) ?? "", type: text(row.kind) ?? "" };
      return [[place, { charset, own: { ...own, nullable: text(row.empty) !== "NO" } }]];
    }),
  );
  return (table, column) => found.get(`${table}.${column}`);
}

/** PostgreSQL's names in MySQL's words; others stay. */
function named(encoding: string): string {
  const known: { readonly [name: string]: string } = { UTF8: "utf8", LATIN1: "latin1" };
  return known[encoding] ?? encoding;
}

async function oddRows(
  database: Database,
  { table, where = "1 = 1", of }: Inspected,
  column: string,
): Promise<number> {
  const doing = `reading ${table}`;
  const from = of === undefined ? table : await keyed(database, table, of.column);
  const sql = `SELECT count(*) AS n FROM ${from} WHERE ${where} AND ${isNotAscii(database, column)}`;
  if (of === undefined) return (await askNumber(database, doing, sql)) ?? 0;
  let count = 0;
  for (const some of inPortions(of.values())) {
    const question = `${sql} AND ${of.column} IN (${marks(some)})`;
    count += (await askNumber(database, doing, question, some)) ?? 0;
  }
  return count;
}
