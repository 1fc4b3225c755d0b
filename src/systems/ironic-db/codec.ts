import { isObject, type Json } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import { type Seal, sealed, sealedLater, unsealed } from "../../model/secret.ts";
import type { Column } from "../../model/tables.ts";
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

/** JSON in ASCII, as Python's json.dumps writes it: utf8mb3 tables then hold any character. */
function asciiJson(value: Json): string {
  return inAscii(JSON.stringify(value));
}

function inAscii(json: string): string {
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * Values of a column as text that COPY and LOAD DATA read. Each text is looked at once: nearly none has anything in it
 * that must be written otherwise.
 */
export function fieldWriter(column: string, seal: Seal): (value: Json) => string {
  if (!isJsonColumn(column)) return (value) => fieldOf(encode(column, value, seal));
  return (value) => {
    if (value === null) return fieldOf(null);
    const json = JSON.stringify(unsealed(value, seal));
    return /[\\\u007f-\uffff]/.test(json) ? fieldOf(inAscii(json)) : json;
  };
}

/** A value as the column holds it. Secrets are opened here, on the way to the database only. */
export function encode(column: string, value: Json, seal: Seal): string | number | boolean | null {
  if (isJsonColumn(column)) return value === null ? null : asciiJson(unsealed(value, seal));
  return isObject(value) || Array.isArray(value)
    ? asciiJson(value)
    : (value as string | number | boolean | null);
}

/** JSON text that is no JSON; verify calls such a row suspended. */
export const UNREADABLE = "(not JSON)";

/** Our mark inside nodes.extra, for LIKE: the key, as JSON text holds it with or without spaces. */
export const MARK = '%"nova_bm":%';

/** Text that is not UTF-8: no value of ours reads so, and the row counts as changed. */
export const GARBLED = "(not UTF-8)";

/** Reads a column of JSON. Many rows in turn say the same there, which is parsed once where no secret is in it. */
function jsonReader(): Reader {
  let last = { text: "null", value: null as Json };
  return (raw, seal, place) => {
    const got = text(raw);
    if (got === null || got === last.text) return got === null ? null : last.value;
    try {
      // JSON.parse gives JSON.
      const parsed = JSON.parse(got) as Json;
      const value = sealed(parsed, seal, place);
      if (value === parsed) last = { text: got, value };
      return value;
    } catch {
      return UNREADABLE;
    }
  };
}

type Reader = (raw: unknown, seal: Pick<Seal, "seal">, place: string) => Json;

/** How a column is read. */
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

/** Readers by a release's list of columns: chosen once, not for each row. */
const READERS = new WeakMap<readonly Column[], readonly (readonly [string, Reader])[]>();

function readersOf(columns: readonly Column[]): readonly (readonly [string, Reader])[] {
  const known = READERS.get(columns);
  if (known !== undefined) return known;
  const readers = columns.map((column) => [column.name, readerOf(column)] as const);
  READERS.set(columns, readers);
  return readers;
}

/**
 * A row of nodes or ports as artefacts may hold it: secrets sealed for the node they belong to,
 * so that the same secret reads the same as in the snapshot. As a rule they are only compared, which
 * their clear text is enough for.
 */
export function decode(raw: RawRow, columns: readonly Column[], seal: Seal, place: string): Row {
  const readers = readersOf(columns);
  const later = { seal: (clear: string, of: string) => sealedLater(clear, of, seal) };
  const row: Record<string, Json> = {};
  for (const [name, read] of readers) {
    const value = raw[name];
    if (value === null) row[name] = null;
    else row[name] = garbled(value) ? GARBLED : read(value, later, place);
  }
  return row;
}
