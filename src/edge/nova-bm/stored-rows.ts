import { createHash } from "node:crypto";
import type { Knex } from "knex";
import type { Cell, RowsDigest, StoredTable } from "../../model/archive.ts";
import type { Engine } from "../../model/database.ts";
import type { StoredColumn } from "../../model/tables.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, digits, type RawRow, string } from "../database/rows.ts";
import { cellOf, kindsOf, plainCell, readAs } from "./cells.ts";

/** Rows of one statement. */
const PAGE = 1000;
/** Names that no column of ours has. */
const [AT, KINDS] = ["n2i_at", "n2i_kinds"];

/**
 * Every row of a table with every column, by pages where something numbers them. Another table than
 * nova-baremetal's own may have no number, and comes in one piece.
 *
 * @param on a transaction, so that all pages are of one moment
 */
export async function* readRows(
  database: Database,
  on: Knex,
  table: StoredTable,
): AsyncGenerator<readonly (readonly Cell[])[]> {
  const { engine } = database;
  const from = quoted(engine, table.name);
  const doing = `reading ${table.name}`;
  const { columns } = table;
  const number = numberOf(engine, table);
  const names = [
    ...columns.map((column, at) => `${readAs(engine, column)} AS c${at}`),
    ...(number === null ? [] : [`${number} AS ${AT}`]),
    ...(engine === "sqlite" ? [`${kindsOf(columns)} AS ${KINDS}`] : []),
  ].join(", ");
  // Numbers of forks with every digit; servers before 12 cut them otherwise.
  if (engine === "postgresql")
    await ask(database, doing, "SET LOCAL extra_float_digits = 3", [], on);
  for (let after = ""; ; ) {
    const page = number === null ? "" : `${after} ORDER BY ${number} LIMIT ${PAGE}`;
    const rows = await ask(database, doing, `SELECT ${names} FROM ${from}${page}`, [], on);
    if (rows.length > 0) yield rows.map((raw) => cellsOf(raw, columns));
    if (number === null || rows.length < PAGE) return;
    after = ` WHERE ${number} > ${digits(rows.at(-1)?.[AT])}`;
  }
}

function cellsOf(raw: RawRow, columns: readonly StoredColumn[]): readonly Cell[] {
  const kinds = string(raw[KINDS]);
  return columns.map((column, at) => cellOf(raw[`c${at}`], column, kinds[at]));
}

/** What numbers a table's rows, each once: SQLite does it by itself. */
function numberOf(engine: Engine, { columns, primary }: StoredTable): string | null {
  if (engine === "sqlite") return "rowid";
  const [name, ...more] = primary;
  const column = columns.find((one) => one.name === name);
  if (name === undefined || column === undefined || more.length > 0) return null;
  return column.type === "integer" || column.type === "bigint" ? quoted(engine, name) : null;
}

const ALL = 2n ** 256n;

/** Counts rows and adds their digests up: servers give rows in orders of their own. */
export function rowsSum(columns: readonly StoredColumn[], { plain }: { readonly plain: boolean }) {
  let [rows, sum] = [0, 0n];
  return {
    add(row: readonly Cell[]): void {
      const cells = plain ? row.map((cell, at) => asAnywhere(cell, columns[at])) : row;
      const digest = createHash("sha256").update(JSON.stringify(cells)).digest("hex");
      rows += 1;
      sum = (sum + BigInt(`0x${digest}`)) % ALL;
    },
    result: (): RowsDigest => ({ rows, sum: sum.toString(16).padStart(64, "0") }),
  };
}

function asAnywhere(cell: Cell, column: StoredColumn | undefined): Cell {
  return column === undefined ? cell : plainCell(cell, column);
}
