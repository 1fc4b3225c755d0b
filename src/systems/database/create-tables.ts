import type { Knex } from "knex";
import type { Engine } from "../../model/database.ts";
import type { Column, Key, Table, Tables } from "../../model/mapping.ts";

/**
 * Creates the tables as the project's migrations do, with the same nullability, defaults and keys,
 * then inserts the version row. MySQL dates have no fraction.
 *
 * @param options.charset of MySQL tables, by default the database's, as in nova_bm's migrations
 * @source facts/nova-bm.md 1.3; facts/ironic.md 1.2-1.4
 */
export async function createTables(
  db: Knex,
  { tables, version }: Tables,
  { engine, charset }: { readonly engine: Engine; readonly charset?: string | undefined },
): Promise<void> {
  const statements = tableStatements(db, tables, { engine, charset });
  await db.transaction(async (trx) => {
    for (const sql of statements) await trx.raw(escaped(sql));
    await trx(version.table).insert(version.row);
  });
}

/** A question mark in a statement is not a binding. */
export function tableStatements(
  db: Knex,
  tables: { readonly [name: string]: Table },
  { engine, charset }: { readonly engine: Engine; readonly charset?: string | undefined },
): readonly string[] {
  const made: string[] = [];
  const added: string[] = [];
  for (const [name, table] of Object.entries(tables)) {
    const [create = "", ...more] = statementsOf(db, name, table, engine, charset);
    made.push(create);
    added.push(...(engine === "mysql" ? inOne(more) : more));
  }
  return [...made, ...added];
}

/** A question mark in a statement is not a binding. */
export function columnStatements(
  db: Knex,
  table: string,
  columns: readonly Column[],
  engine: Engine,
): readonly string[] {
  return texts(
    db.schema.alterTable(table, (made) => {
      for (const column of columns) addColumn(db, made, column, engine);
    }),
  );
}

function statementsOf(
  db: Knex,
  name: string,
  table: Table,
  engine: Engine,
  charset: string | undefined,
): readonly string[] {
  const builder = db.schema.createTable(name, (made) => {
    if (engine === "mysql") made.engine("InnoDB");
    if (engine === "mysql" && charset !== undefined) made.charset(charset);
    for (const column of table.columns) addColumn(db, made, column, engine);
    if (table.primary.length > 0) made.primary([...table.primary]);
    for (const key of table.unique)
      made.unique([...key.columns], { indexName: keyName(name, key, engine) });
    for (const key of table.index) made.index([...key.columns], keyName(name, key, engine));
    // SQLite accepts foreign keys only in CREATE TABLE, also to tables created later.
    if (engine === "sqlite") addForeignKeys(made, table);
  });
  if (engine !== "sqlite" && table.foreign.length > 0)
    builder.alterTable(name, (made) => addForeignKeys(made, table));
  return texts(builder);
}

function texts(builder: Knex.SchemaBuilder): readonly string[] {
  // Knex returns an array here, contrary to its type.
  const all = builder.toSQL() as unknown as readonly { readonly sql: string }[];
  return all.map(({ sql }) => sql);
}

/** One ALTER TABLE, because MariaDB may rebuild the table for each. */
function inOne(statements: readonly string[]): readonly string[] {
  const parts = statements.map((sql) => /^(alter table `\w+`) (.*)$/s.exec(sql));
  const [, table] = parts[0] ?? [];
  return table === undefined ? [] : [`${table} ${parts.map((part) => part?.[2]).join(", ")}`];
}

/** Knex treats a question mark as a binding. */
export function escaped(sql: string): string {
  return sql.replaceAll("?", "\\?");
}

function addForeignKeys(builder: Knex.TableBuilder, { foreign }: Table): void {
  for (const { column, references } of foreign) {
    const [table = "", other = ""] = references.split(".");
    builder.foreign([column]).references([other]).inTable(table);
  }
}

function addColumn(db: Knex, builder: Knex.TableBuilder, column: Column, engine: Engine): void {
  const made = builder.specificType(column.name, columnType(column, engine));
  if (!column.null) made.notNullable();
  if (column.default !== undefined) made.defaultTo(db.raw(literal(column.default, engine)));
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

function columnType({ type, length = 255, auto }: Column, engine: Engine): string {
  const [mysql, postgresql, sqlite] = TYPES[auto ? "auto" : type];
  const name = { mysql, postgresql, sqlite }[engine];
  return type === "string" && !auto ? `${name}(${length})` : name;
}

function literal(value: string | number | boolean, engine: Engine): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return String(engine === "postgresql" ? value : Number(value));
}

/** Key names are unique per table on MySQL, per schema on PostgreSQL and SQLite. */
function keyName(table: string, { name, columns }: Key, engine: Engine): string {
  if (name !== undefined) return name;
  return engine === "mysql" ? (columns[0] ?? table) : `${table}_${columns.join("_")}_key`;
}
