import { isObject, type Json } from "../../../lib/json.ts";
import type { Row } from "../../../model/machine.ts";
import { isSealed, type Sealed } from "../../../model/secret.ts";

/**
 * A secret for people: four hex digits that change with it. They are from its nonce, which also
 * depends on the machine, so they reveal neither equal passwords nor lengths.
 */
function mask({ secret }: Sealed): string {
  const digits = Buffer.from(secret.slice(0, 4), "base64").toString("hex", 0, 2);
  return digits === "" ? "(secret)" : `(secret ${digits})`;
}

/** A value on one line, with control characters escaped as in JSON. */
export function showValue(value: Json): string {
  if (isSealed(value)) return mask(value);
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Masks every secret in a value, for machine-readable formats. */
export function masked(value: Json): Json {
  if (isSealed(value)) return mask(value);
  if (Array.isArray(value)) return value.map((item: Json) => masked(item));
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, masked(inner)]))
    : value;
}

/** The first columns of a record. Other plain columns follow, then the JSON columns. */
const FIRST = [
  "uuid",
  "name",
  "node_uuid",
  "address",
  "driver",
  "instance_uuid",
  "provision_state",
];

function rank(column: string, value: Json): number {
  const at = FIRST.indexOf(column);
  return at >= 0 ? at : isObject(value) && !isSealed(value) ? FIRST.length + 1 : FIRST.length;
}

/** The fields of a row, most important first: `driver_info.ipmi_address` and its value. */
export function flatFields(row: Row): readonly (readonly [string, Json])[] {
  const flatten = (path: string, value: Json): readonly (readonly [string, Json])[] =>
    isObject(value) && !isSealed(value)
      ? Object.entries(value).flatMap(([key, inner]) => flatten(`${path}.${key}`, inner))
      : [[path, value] as const];
  return Object.entries(row)
    .toSorted(([left, one], [right, other]) => rank(left, one) - rank(right, other))
    .flatMap(([column, value]) => flatten(column, value));
}
