import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { NUMBERS } from "../../model/compare.ts";
import type { Row } from "../../model/machine.ts";
import type { Column } from "../../model/mapping.ts";
import {
  isSealed,
  isSecretName,
  type Seal,
  sealed,
  sealedLater,
  unsealed,
} from "../../model/secret.ts";
import { boolean, garbled, integer, plain, type RawRow, text, time } from "../database/rows.ts";

/** Columns that hold JSON text. @source facts/ironic.md 1.2, 1.3 */
const JSON_COLUMNS: ReadonlySet<string> = new Set([
  ...["properties", "driver_info", "extra", "instance_info", "driver_internal_info"],
  ...["clean_step", "raid_config", "target_raid_config", "deploy_step", "service_step"],
  ...["network_data", "local_link_connection", "internal_info"],
]);

export function isJsonColumn(name: string): boolean {
  return JSON_COLUMNS.has(name);
}

/** ASCII like Python's json.dumps, because utf8mb3 tables lack four-byte characters. */
function inAscii(json: string): string {
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: { readonly [character: string]: string } = {
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
};

/**
 * A NUL is kept, because PostgreSQL then refuses it.
 *
 * @source PostgreSQL, COPY, "Text Format"; MariaDB, LOAD DATA INFILE, "FIELDS ESCAPED BY"
 */
function fieldOf(value: string | number | boolean | null): string {
  switch (typeof value) {
    case "string":
      return SPECIAL.test(value)
        ? value.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? "")
        : value;
    case "boolean":
      return value ? "1" : "0";
    case "number":
      return String(value);
    default:
      return "\\N";
  }
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
  if (isJsonColumn(column))
    return value === null ? null : inAscii(JSON.stringify(unsealed(value, seal)));
  return isObject(value) || Array.isArray(value)
    ? inAscii(JSON.stringify(value))
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

function readerOf({ name, type }: Column): Reader {
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

/** Caches per release. */
function cached<T>(make: (columns: readonly Column[]) => T): (columns: readonly Column[]) => T {
  const values = new WeakMap<readonly Column[], T>();
  return (columns) => {
    const value = values.get(columns) ?? make(columns);
    values.set(columns, value);
    return value;
  };
}

const readersOf = cached((columns) =>
  columns.map((column) => [column.name, readerOf(column)] as const),
);

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

/**
 * Compares without sealing or opening secrets, and independently of the load. False does not mean
 * that the row differs.
 *
 * @param owner of a port: uuid of its node
 */
export function isAsPlanned(
  raw: RawRow,
  planned: Row,
  columns: readonly Column[],
  seal: Seal,
  owner: string | null,
): boolean {
  const comparers = comparersOf(columns);
  let expected = 0;
  for (const name in planned) {
    const value = planned[name] ?? null;
    if (value === null) continue;
    if (name === "node_uuid") {
      if (value !== owner) return false;
      continue;
    }
    const got = raw[name] ?? null;
    const same = comparers.get(name);
    if (got === null || same === undefined || !same(got, value, seal)) return false;
    expected += 1;
  }
  return expected === filled(raw);
}

/** Counts columns with a value, except those that plans omit. */
function filled(raw: RawRow): number {
  let count = 0;
  for (const name in raw) if ((raw[name] ?? null) !== null) count += 1;
  for (const name of NOT_PLANNED) if ((raw[name] ?? null) !== null) count -= 1;
  return count;
}

const NOT_PLANNED = [...NUMBERS, "node_uuid"];

type Compare = (got: unknown, planned: Json, seal: Seal) => boolean;

const comparersOf = cached(
  (columns): ReadonlyMap<string, Compare> =>
    new Map(
      columns
        .filter(({ name }) => !NUMBERS.has(name))
        .map((column) => [column.name, comparerOf(column)]),
    ),
);

function comparerOf(column: Column): Compare {
  if (isJsonColumn(column.name)) return jsonComparer();
  const read = readerOf(column);
  return (got, planned, seal) => !garbled(got) && read(got, seal, "") === planned;
}

/** Caches the last value, because consecutive rows often have the same JSON. */
function jsonComparer(): Compare {
  let last = { text: "null", value: null as Json };
  return (got, planned, seal) => {
    if (garbled(got)) return false;
    const json = text(got) ?? "";
    try {
      if (json !== last.text) last = { text: json, value: JSON.parse(json) as Json };
    } catch {
      return false;
    }
    return isSame(planned, last.value, seal);
  };
}

function isSame(planned: Json, found: Json, seal: Seal): boolean {
  if (planned === found) return true;
  if (typeof planned !== "object" || planned === null) return false;
  if (Array.isArray(planned))
    return (
      Array.isArray(found) &&
      found.length === planned.length &&
      planned.every((item, at) => isSame(item, found[at] ?? null, seal))
    );
  if (isSealed(planned)) return typeof found === "string" && seal.isOf(planned, found);
  return isObject(found) && isSameObject(planned as JsonObject, found, seal);
}

function isSameObject(planned: JsonObject, found: JsonObject, seal: Seal): boolean {
  let more = 0;
  for (const name in planned) {
    const value = planned[name] ?? null;
    if (!Object.hasOwn(found, name) || !isSame(value, found[name] ?? null, seal)) return false;
    // A value under a secret name is read as a secret.
    if (isSecretName(name) && !isSealed(value)) return false;
    more -= 1;
  }
  for (const _ in found) more += 1;
  return more === 0;
}
