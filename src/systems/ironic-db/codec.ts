import { isObject, type Json } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import type { Column } from "../../model/mapping.ts";
import { type Seal, sealed, sealedLater, unsealed } from "../../model/secret.ts";
import { fieldOf } from "../database/bulk.ts";
import { boolean, garbled, integer, plain, type RawRow, text, time } from "../database/rows.ts";

/** Columns that hold JSON text. @source facts/ironic.md 1.2, 1.3 */
const JSON_COLUMNS: ReadonlySet<string> = new Set([
  "properties",
  "driver_info",
  "extra",
  "instance_info",
  "driver_internal_info",
  "clean_step",
  "raid_config",
  "target_raid_config",
  "deploy_step",
  "service_step",
  "network_data",
  "local_link_connection",
  "internal_info",
]);

export function isJsonColumn(name: string): boolean {
  return JSON_COLUMNS.has(name);
}

/** ASCII like Python's json.dumps, because utf8mb3 tables lack four-byte characters. */
function asciiJson(value: Json): string {
  return inAscii(JSON.stringify(value));
}

function inAscii(json: string): string {
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Formats values for COPY and LOAD DATA. One test per text, because nearly none needs escapes. */
export function fieldWriter(column: string, seal: Seal): (value: Json) => string {
  if (!isJsonColumn(column)) return (value) => fieldOf(encode(column, value, seal));
  return (value) => {
    if (value === null) return fieldOf(null);
    const json = JSON.stringify(unsealed(value, seal));
    return /[\\\u007f-\uffff]/.test(json) ? fieldOf(inAscii(json)) : json;
  };
}

/** A value for a statement. Secrets are opened only here. */
export function encode(column: string, value: Json, seal: Seal): string | number | boolean | null {
  if (isJsonColumn(column)) return value === null ? null : asciiJson(unsealed(value, seal));
  return isObject(value) || Array.isArray(value)
    ? asciiJson(value)
    : (value as string | number | boolean | null);
}

/** For invalid JSON text. */
export const UNREADABLE = "(not JSON)";

/** A LIKE pattern for the mark's key in nodes.extra, for JSON with and without spaces. */
export const MARK = '%"nova_bm":%';

/** For text that is not UTF-8. It equals no planned value, so the row counts as changed. */
export const GARBLED = "(not UTF-8)";

/** Caches the last value without secrets, because consecutive rows often have the same JSON. */
function jsonReader(): Reader {
  let last = { text: "null", value: null as Json };
  return (raw, seal, owner) => {
    const got = text(raw);
    if (got === null || got === last.text) return got === null ? null : last.value;
    try {
      const parsed = JSON.parse(got) as Json;
      const value = sealed(parsed, seal, owner);
      if (value === parsed) last = { text: got, value };
      return value;
    } catch {
      return UNREADABLE;
    }
  };
}

type Reader = (raw: unknown, seal: Pick<Seal, "seal">, owner: string) => Json;

export function readerOf({ name, type }: Column): Reader {
  if (isJsonColumn(name)) return jsonReader();
  switch (type) {
    case "boolean":
      return boolean;
    case "integer":
      return integer;
    case "datetime":
      return (raw) => time(raw)?.slice(0, 19) ?? null;
    case "bigint":
    case "float":
    case "string":
    case "text":
    case "mediumtext":
    case "longtext":
      return plain;
  }
}

/** Cached per release. */
const READERS = new WeakMap<readonly Column[], readonly (readonly [string, Reader])[]>();

function readersOf(columns: readonly Column[]): readonly (readonly [string, Reader])[] {
  const cached = READERS.get(columns);
  if (cached !== undefined) return cached;
  const readers = columns.map((column) => [column.name, readerOf(column)] as const);
  READERS.set(columns, readers);
  return readers;
}

/**
 * Secrets are sealed for the node, as in the snapshot, but only on demand: most rows are only
 * compared.
 */
export function decode(raw: RawRow, columns: readonly Column[], seal: Seal, owner: string): Row {
  const readers = readersOf(columns);
  const later = { seal: (clear: string, of: string) => sealedLater(clear, of, seal) };
  const row: Record<string, Json> = {};
  for (const [name, read] of readers) {
    const value = raw[name];
    if (value === null) row[name] = null;
    else row[name] = garbled(value) ? GARBLED : read(value, later, owner);
  }
  return row;
}
