import { isUtf8 } from "node:buffer";
import type { Engine } from "../../model/database.ts";
import type { RawRow } from "./rows.ts";

/**
 * An expression whose text comes whole. SQLite keeps text of any bytes, and its driver cuts one at a
 * NUL and ends the process at one that is not UTF-8: there text is read as bytes, which `plain` decodes.
 */
export function whole(engine: Engine, expression: string): string {
  return engine === "sqlite"
    ? `CASE typeof(${expression}) WHEN 'text' THEN CAST(${expression} AS BLOB) ELSE ${expression} END`
    : expression;
}

/** Bytes that are not UTF-8. */
export function garbled(value: unknown): boolean {
  return value instanceof ArrayBuffer || value instanceof Uint8Array ? !isUtf8(value) : false;
}

const NONE: readonly string[] = [];

/** Columns of a row whose text is not UTF-8; only SQLite hands them out. */
export function garbledColumns(engine: Engine, row: RawRow): readonly string[] {
  return engine === "sqlite" ? Object.keys(row).filter((column) => garbled(row[column])) : NONE;
}
