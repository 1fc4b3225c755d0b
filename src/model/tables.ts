/** What a column holds; one small vocabulary that every engine has a type for. */
type ColumnType =
  | "integer"
  | "bigint"
  | "string"
  | "text"
  | "mediumtext"
  | "longtext"
  | "boolean"
  | "datetime"
  | "float";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Characters, of a `string`. */
  readonly length?: number;
  readonly null: boolean;
  /** The database's own default; SQLAlchemy's Python-side defaults are not in any database. */
  readonly default?: string | number | boolean;
  /** Numbered by the database: auto_increment, serial, rowid. */
  readonly auto?: true;
}

/** A column as somebody's database has it, whatever made it. */
export interface StoredColumn extends Omit<Column, "type"> {
  readonly type: ColumnType | "bytes" | "numeric" | "double";
}

export interface Key {
  /** As upgrade migrations name it; without a name, as the engine itself would. */
  readonly name?: string;
  readonly columns: readonly string[];
}

export interface ForeignKey {
  readonly column: string;
  /** `nodes.id` */
  readonly references: string;
}

export interface Table {
  /** In the order the migrations left them in. */
  readonly columns: readonly Column[];
  readonly primary: readonly string[];
  readonly unique: readonly Key[];
  readonly foreign: readonly ForeignKey[];
  readonly index: readonly Key[];
}

/** A table to be made, of columns as somebody had them. */
export interface MadeTable extends Omit<Table, "columns"> {
  readonly columns: readonly StoredColumn[];
}

/** The tables of one database at one version. */
export interface Tables {
  readonly tables: { readonly [name: string]: Table };
  /** The row that tells the version: of migrate_version or alembic_version. */
  readonly version: {
    readonly table: string;
    readonly row: { readonly [column: string]: string | number };
  };
}
