import type { Knex } from "knex";
import type { Engine } from "../../model/database.ts";
import type { Column, Key, Table, Tables } from "../../model/mapping.ts";
import { quoted } from "./rows.ts";

interface Options {
  readonly engine: Engine;
  /** Of MySQL tables, by default the database's, as in nova_bm's migrations. */
  readonly charset?: string | undefined;
}

/**
 * Creates the tables as the project's migrations do, with the same nullability, defaults and keys,
 * then inserts the version row. MySQL dates have no fraction.
 *
 * @source facts/nova-bm.md 1.3; facts/ironic.md 1.2-1.4
 */
export async function createTables(
  db: Knex,
  { tables, version }: Tables,
  options: Options,
): Promise<void> {
  await db.transaction(async (trx) => {
    for (const sql of tableStatements(tables, options)) await trx.raw(sql);
    await trx(version.table).insert(version.row);
  });
}

/** Foreign keys come last, because they may name later tables. SQLite accepts foreign keys only in CREATE TABLE. */
export function tableStatements(
  tables: { readonly [name: string]: Table },
  { engine, charset }: Options,
): readonly string[] {
  const list = (names: readonly string[]) => names.map((name) => quoted(engine, name)).join(", ");
  const mysql = `ENGINE = InnoDB${charset === undefined ? "" : ` DEFAULT CHARSET = ${charset}`}`;
  const made: string[] = [];
  const added: string[] = [];
  for (const [name, { columns, primary, unique, index, foreign }] of Object.entries(tables)) {
    const keyOf = (key: Key) => [list([keyName(name, key, engine)]), list(key.columns)] as const;
    const references = foreign.map(({ column, references }) => {
      const [table = "", other = ""] = references.split(".");
      const key = list([`${name}_${column}_foreign`]);
      return `CONSTRAINT ${key} FOREIGN KEY (${list([column])}) REFERENCES ${list([table])} (${list([other])})`;
    });
    const parts = [
      ...columns.map((column) => definition(column, engine)),
      ...(primary.length > 0 ? [`PRIMARY KEY (${list(primary)})`] : []),
      ...unique.map(keyOf).map(([key, on]) => `CONSTRAINT ${key} UNIQUE (${on})`),
      ...(engine === "mysql" ? index.map(keyOf).map(([key, on]) => `KEY ${key} (${on})`) : []),
      ...(engine === "sqlite" ? references : []),
    ];
    const table = list([name]);
    made.push(`CREATE TABLE ${table} (${parts.join(", ")}) ${engine === "mysql" ? mysql : ""}`);
    if (engine !== "mysql")
      for (const [key, on] of index.map(keyOf))
        added.push(`CREATE INDEX ${key} ON ${table} (${on})`);
    // In one statement, because MariaDB may rebuild the table for each.
    if (engine !== "sqlite" && references.length > 0)
      added.push(`ALTER TABLE ${table} ADD ${references.join(", ADD ")}`);
  }
  return [...made, ...added];
}

/** SQLite adds one column per statement. */
export function columnStatements(
  table: string,
  columns: readonly Column[],
  engine: Engine,
): readonly string[] {
  const adds = columns.map((column) => `ADD COLUMN ${definition(column, engine)}`);
  const altered = engine === "sqlite" || adds.length === 0 ? adds : [adds.join(", ")];
  return altered.map((add) => `ALTER TABLE ${table} ${add}`);
}

const TYPES: { readonly [type in Column["type"] | "auto"]: readonly [string, string, string] } = {
  auto: ["int(11) auto_increment", "serial", "integer"],
  integer: ["int(11)", "integer", "integer"],
  bigint: ["bigint", "bigint", "bigint"],
  boolean: ["tinyint(1)", "boolean", "boolean"],
  datetime: ["datetime", "timestamp without time zone", "datetime"],
  float: ["float", "double precision", "float"],
  string: ["varchar", "varchar", "varchar"],
  text: ["text", "text", "text"],
  mediumtext: ["mediumtext", "text", "text"],
  longtext: ["longtext", "text", "text"],
};

function definition(column: Column, engine: Engine): string {
  const { name, type, length = 255, auto, default: value } = column;
  const [mysql, postgresql, sqlite] = TYPES[auto ? "auto" : type];
  const native = { mysql, postgresql, sqlite }[engine];
  const size = type === "string" && !auto ? `(${length})` : "";
  const literal =
    typeof value === "string"
      ? `'${value.replaceAll("'", "''")}'`
      : String(engine === "postgresql" ? value : Number(value));
  const otherwise = value === undefined ? "" : ` DEFAULT ${literal}`;
  return `${quoted(engine, name)} ${native}${size}${column.null ? "" : " NOT NULL"}${otherwise}`;
}

/** Key names are unique per table on MySQL, per schema on PostgreSQL and SQLite. */
function keyName(table: string, { name, columns }: Key, engine: Engine): string {
  if (name !== undefined) return name;
  return engine === "mysql" ? (columns[0] ?? table) : `${table}_${columns.join("_")}_key`;
}
