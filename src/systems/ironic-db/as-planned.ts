import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { NUMBERS } from "../../model/compare.ts";
import type { Row } from "../../model/machine.ts";
import type { Column } from "../../model/mapping.ts";
import { isSealed, isSecretName, type Seal } from "../../model/secret.ts";
import { garbled, type RawRow, text } from "../database/rows.ts";
import { isJsonColumn, readerOf } from "./codec.ts";

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

const COMPARERS = new WeakMap<readonly Column[], ReadonlyMap<string, Compare>>();

function comparersOf(columns: readonly Column[]): ReadonlyMap<string, Compare> {
  const cached = COMPARERS.get(columns);
  if (cached !== undefined) return cached;
  const compared = columns.filter(({ name }) => !NUMBERS.has(name));
  const comparers = new Map(compared.map((column) => [column.name, comparerOf(column)]));
  COMPARERS.set(columns, comparers);
  return comparers;
}

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
