import { isUtf8 } from "node:buffer";
import type { Cell } from "../../model/archive.ts";
import type { Engine } from "../../model/database.ts";
import { MigrationError } from "../../model/error.ts";
import { isSealed } from "../../model/secret.ts";
import type { StoredColumn } from "../../model/tables.ts";
import { quoted } from "../database/read.ts";
import { whole } from "../database/rows.ts";

/** An expression that gives a column's value as no driver changes it. */
export function readAs(engine: Engine, { name, type }: StoredColumn): string {
  const column = quoted(engine, name);
  switch (engine) {
    case "sqlite":
      return whole(engine, column);
    case "mysql":
      // A BIT would come as bytes, and a FLOAT cut to six digits.
      if (type === "bigint") return `${column} + 0`;
      if (REALS.has(type)) return `${column} + 0e0`;
      return type === "longtext" || type === "datetime" ? `CAST(${column} AS CHAR)` : column;
    case "postgresql":
      if (type === "boolean") return `${column}::int`;
      return type === "bytes" ? `encode(${column}, 'hex')` : `${column}::text`;
  }
}

/** Whether SQLite keeps a value as text or as bytes: one letter a column. */
export function kindsOf(columns: readonly StoredColumn[]): string {
  return columns.map(({ name }) => `substr(typeof(${quoted("sqlite", name)}), 1, 1)`).join(" || ");
}

/**
 * A driver's value as the archive holds it.
 *
 * @param kind of SQLite's value: `n`, `i`, `r`, `t`, `b`
 */
export function cellOf(raw: unknown, { type }: Pick<StoredColumn, "type">, kind = ""): Cell {
  if (raw === null || raw === undefined) return null;
  if (typeof raw === "bigint") return wholeNumber(raw.toString());
  if (raw instanceof ArrayBuffer || ArrayBuffer.isView(raw)) return ofBytes(bufferOf(raw), kind);
  if (kind === "r" || REALS.has(type)) return real(Number(raw));
  if (typeof raw === "number") return Number.isInteger(raw) ? wholeNumber(`${raw}`) : real(raw);
  if (typeof raw === "boolean") return raw ? 1 : 0;
  const text = String(raw);
  if (type === "bytes") return { bytes: Buffer.from(text, "hex").toString("base64") };
  return NUMBERS.has(type) && /^-?\d+$/.test(text) ? wholeNumber(text) : text;
}

const REALS: ReadonlySet<StoredColumn["type"]> = new Set(["float", "double"]);
const NUMBERS: ReadonlySet<StoredColumn["type"]> = new Set(["integer", "bigint", "boolean"]);

function wholeNumber(digits: string): Cell {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : { integer: digits };
}

/** Its shortest text that gives the very number again, so that 1.0 is not taken for 1. */
function real(number: number): Cell {
  return { real: String(number) };
}

function ofBytes(bytes: Buffer, kind: string): Cell {
  if (kind === "t")
    return isUtf8(bytes) ? bytes.toString("utf8") : { bytes: bytes.toString("base64"), text: true };
  return { bytes: bytes.toString("base64") };
}

function bufferOf(raw: ArrayBuffer | ArrayBufferView): Buffer {
  return raw instanceof ArrayBuffer
    ? Buffer.from(raw)
    : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}

/** What drivers are given. */
type Given = string | number | bigint | boolean | Buffer | null;

/** What stands for a value in a statement, and what a driver is given for it. */
export function writtenAs(
  engine: Engine,
  cell: Exclude<Cell, { readonly secret: string }>,
  { name, type }: StoredColumn,
): readonly [mark: string, value: Given] {
  if (cell === null) return ["?", null];
  if (typeof cell === "number") {
    // libsql makes a REAL of every number.
    if (engine === "sqlite") return ["?", BigInt(cell)];
    return ["?", engine === "postgresql" && type === "boolean" ? truth(cell, name) : cell];
  }
  // It cuts a text at a NUL, and takes none that is not UTF-8.
  if (typeof cell === "string")
    return engine === "sqlite" ? ["CAST(? AS TEXT)", Buffer.from(cell)] : ["?", cell];
  if ("integer" in cell) return ["?", engine === "sqlite" ? BigInt(cell.integer) : cell.integer];
  if ("real" in cell) return ["?", engine === "sqlite" ? Number(cell.real) : cell.real];
  const bytes = Buffer.from(cell.bytes, "base64");
  if (cell.text !== true) return ["?", bytes];
  if (engine === "sqlite") return ["CAST(? AS TEXT)", bytes];
  throw new MigrationError("N2I-E343", `${name} holds text that is not UTF-8`, {
    fix: "Restore it into a SQLite file: no server takes such text.",
  });
}

function truth(number: number, column: string): boolean {
  if (number === 0 || number === 1) return number === 1;
  throw new MigrationError("N2I-E343", `${column} holds ${number}, which is no boolean`, {
    fix: "Restore it into the kind of server it came from.",
  });
}

/** A value in the form that all servers give it back in: fractions of a second without zeros at their end. */
export function plainCell(cell: Cell, { type }: Pick<StoredColumn, "type">): Cell {
  if (typeof cell === "string" && type === "datetime")
    return cell.replace(/(:\d\d)\.(\d*?)0+$/, (_, before: string, fraction: string) =>
      fraction === "" ? before : `${before}.${fraction}`,
    );
  if (typeof cell !== "object" || cell === null || isSealed(cell) || !("real" in cell)) return cell;
  return Number.isSafeInteger(Number(cell.real)) ? Number(cell.real) : cell;
}
