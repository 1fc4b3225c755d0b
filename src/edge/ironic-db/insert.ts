import type { Knex } from "knex";
import { MigrationError } from "../../model/error.ts";
import type { Row } from "../../model/machine.ts";
import type { Column } from "../../model/tables.ts";
import type { Database } from "../database/open.ts";
import { encode } from "./codec.ts";
import type { Ironic } from "./current.ts";

type Cell = string | number | boolean | null;

/** Bytes of values a statement carries at most: well under MySQL's smallest max_allowed_packet. */
const STATEMENT = 1_000_000;
const ROWS = 500;

/** Columns some row of the batch has a value for; the others keep the database's NULL. */
function filled(rows: readonly Row[], columns: readonly Column[]): readonly Column[] {
  return columns.filter(({ name }) =>
    rows.some((row) => row[name] !== null && row[name] !== undefined),
  );
}

/** PostgreSQL's name for the array a column's values travel in. */
function arrayType({ type }: Column): string {
  if (type === "integer" || type === "boolean") return `${type}[]`;
  return type === "datetime" ? "timestamp[]" : "text[]";
}

async function insertChunk(
  database: Database,
  trx: Knex,
  table: string,
  columns: readonly Column[],
  cells: readonly (readonly Cell[])[],
): Promise<void> {
  const names = columns.map(({ name }) => name).join(",");
  if (database.engine === "postgresql") {
    // One array a column: the server parses a statement of constant length.
    // knex's binding type has no arrays of NULLs; pg sends them as they are.
    const arrays = columns.map((_, at) => cells.map((row) => row[at] ?? null)) as never[];
    const unnest = columns.map((column) => `?::${arrayType(column)}`).join(",");
    await trx.raw(`INSERT INTO ${table} (${names}) SELECT * FROM unnest(${unnest})`, arrays);
    return;
  }
  const row = `(${columns.map(() => "?").join(",")})`;
  const sql = `INSERT INTO ${table} (${names}) VALUES ${cells.map(() => row).join(",")}`;
  const answer: unknown = await trx.raw(sql, cells.flat());
  if (database.engine === "mysql") refuseWarnings(answer, table);
}

/** Strict mode makes errors of almost all warnings; the rest must not pass unseen either. */
function refuseWarnings(answer: unknown, table: string): void {
  const [header] = Array.isArray(answer) ? (answer as unknown[]) : [];
  const warnings =
    typeof header === "object" && header !== null && "warningStatus" in header
      ? header.warningStatus
      : 0;
  if (warnings !== 0)
    throw new MigrationError(
      "N2I-E207",
      `the server warned while writing ${table}; nothing was kept`,
    );
}

/** Writes rows in statements of many, opening their secrets on the way. */
export async function insertRows(
  { database, seal }: Ironic,
  trx: Knex,
  table: "nodes" | "ports",
  rows: readonly Row[],
  columns: readonly Column[],
): Promise<void> {
  const used = filled(rows, columns);
  let cells: Cell[][] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (cells.length > 0)
      await database.run(`writing ${table}`, () => insertChunk(database, trx, table, used, cells));
    cells = [];
    bytes = 0;
  };
  for (const row of rows) {
    const values = used.map(({ name }) => encode(name, row[name] ?? null, seal));
    bytes += values.reduce<number>((sum, value) => sum + String(value).length + 4, 0);
    cells.push(values);
    if (cells.length >= ROWS || bytes >= STATEMENT) await flush();
  }
  await flush();
}
