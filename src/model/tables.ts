/** Column types that every engine supports. */
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
  /** Characters, for a `string`. */
  readonly length?: number;
  readonly null: boolean;
  /** Default of the database, not of SQLAlchemy in Python. */
  readonly default?: string | number | boolean;
  /** Numbered by the database: auto_increment, serial, rowid. */
  readonly auto?: true;
}

export interface Key {
  /** Name in upgrade migrations. Absent: the engine's default name. */
  readonly name?: string;
  readonly columns: readonly string[];
}

export interface ForeignKey {
  readonly column: string;
  /** `nodes.id` */
  readonly references: string;
}

export interface Table {
  /** In the order of the migrations. */
  readonly columns: readonly Column[];
  readonly primary: readonly string[];
  readonly unique: readonly Key[];
  readonly foreign: readonly ForeignKey[];
  readonly index: readonly Key[];
}

export interface Tables {
  readonly tables: { readonly [name: string]: Table };
  /** Row of migrate_version or alembic_version. */
  readonly version: {
    readonly table: string;
    readonly row: { readonly [column: string]: string | number };
  };
}
