import type { Knex } from "knex";
import type { ServerIdentity } from "../model/artefact.ts";
import type { Column, Key, Table, Tables } from "../model/tables.ts";

export type Engine = ServerIdentity["engine"];

/**
 * Builds the tables in an empty database, as the project's own migrations leave them: the same
 * nullability, defaults and keys; dates without a fraction on MySQL. Then writes the version row.
 *
 * @param options.charset of the tables on MySQL (`latin1`, `utf8mb3`, `utf8mb4`); without it the
 *   database's default, as nova_bm's migrations have it
 * @source facts/nova-bm.md 1.3; facts/ironic.md 1.2-1.4
 */
export async function createTables(
  db: Knex,
  { tables, version }: Tables,
  { engine, charset }: { readonly engine: Engine; readonly charset?: string },
): Promise<void> {
  for (const [name, table] of Object.entries(tables)) {
    await db.schema.createTable(name, (builder) => {
      if (engine === "mysql") builder.engine("InnoDB");
      if (engine === "mysql" && charset !== undefined) builder.charset(charset);
      for (const column of table.columns) addColumn(db, builder, column, engine);
      builder.primary([...table.primary]);
      for (const key of table.unique) {
        builder.unique([...key.columns], { indexName: keyName(name, key, engine) });
      }
      for (const key of table.index) builder.index([...key.columns], keyName(name, key, engine));
      // SQLite takes foreign keys only here, and does not mind a table that comes later.
      if (engine === "sqlite") addForeignKeys(builder, table);
    });
  }
  if (engine !== "sqlite") {
    for (const [name, table] of Object.entries(tables)) {
      if (table.foreign.length > 0) {
        await db.schema.alterTable(name, (builder) => addForeignKeys(builder, table));
      }
    }
  }
  await db(version.table).insert(version.row);
}

function addForeignKeys(builder: Knex.TableBuilder, { foreign }: Table): void {
  for (const { column, references } of foreign) {
    const [table = "", other = ""] = references.split(".");
    builder.foreign([column]).references([other]).inTable(table);
  }
}

function addColumn(
  db: Knex,
  builder: Knex.CreateTableBuilder,
  column: Column,
  engine: Engine,
): void {
  const made = builder.specificType(column.name, columnType(column, engine));
  if (!column.null) made.notNullable();
  if (column.default !== undefined) made.defaultTo(db.raw(literal(column.default, engine)));
}

function columnType({ type, length = 255, auto }: Column, engine: Engine): string {
  if (auto) {
    return { mysql: "int(11) auto_increment", postgresql: "serial", sqlite: "integer" }[engine];
  }
  switch (type) {
    case "integer":
      return { mysql: "int(11)", postgresql: "integer", sqlite: "integer" }[engine];
    case "boolean":
      return { mysql: "tinyint(1)", postgresql: "boolean", sqlite: "boolean" }[engine];
    case "datetime":
      return engine === "postgresql" ? "timestamp without time zone" : "datetime";
    case "string":
      return `varchar(${length})`;
    case "mediumtext":
    case "longtext":
      return engine === "mysql" ? type : "text";
    case "float":
      return engine === "postgresql" ? "double precision" : "float";
    case "bigint":
    case "text":
      return type;
  }
}

function literal(value: string | number | boolean, engine: Engine): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return String(engine === "postgresql" ? value : Number(value));
}

/** Key names are the table's on MySQL, but the whole schema's on PostgreSQL and SQLite. */
function keyName(table: string, { name, columns }: Key, engine: Engine): string {
  if (name !== undefined) return name;
  return engine === "mysql" ? (columns[0] ?? table) : `${table}_${columns.join("_")}_key`;
}
