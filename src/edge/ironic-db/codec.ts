import { isObject, type Json } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import { mayHoldSecret, type Seal, sealed, unsealed } from "../../model/secret.ts";
import type { Column } from "../../model/tables.ts";
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
  const json = JSON.stringify(value);
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
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

function json(raw: unknown, seal: Seal, place: string): Json {
  const got = text(raw);
  if (got === null) return null;
  try {
    // JSON.parse gives JSON.
    const value = JSON.parse(got) as Json;
    return mayHoldSecret(got) ? sealed(value, seal, place) : value;
  } catch {
    return UNREADABLE;
  }
}

type Reader = (raw: unknown, seal: Seal, place: string) => Json;

function readerOf({ name, type }: Column): Reader {
  if (isJsonColumn(name)) return json;
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

/**
 * A row of nodes or ports as artefacts may hold it: secrets sealed for the node they belong to,
 * so that the same secret reads the same as in the snapshot.
 */
export function decode(raw: RawRow, columns: readonly Column[], seal: Seal, place: string): Row {
  const known = READERS.get(columns);
  const readers = known ?? columns.map((column) => [column.name, readerOf(column)] as const);
  if (known === undefined) READERS.set(columns, readers);
  const row: Record<string, Json> = {};
  for (const [name, read] of readers) {
    const value = raw[name];
    if (value === null) row[name] = null;
    else row[name] = garbled(value) ? GARBLED : read(value, seal, place);
  }
  return row;
}
