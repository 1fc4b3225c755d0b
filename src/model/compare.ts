import { isObject, type Json, type JsonObject, objectOf } from "../lib/json.ts";
import { isStaged } from "./handover.ts";
import { isNothing, isServiceField, SERVICE_FIELDS } from "./ironic/service-fields.ts";
import type { Row } from "./machine.ts";
import type { FieldChange } from "./plan.ts";
import { isSameText, isSealed, type Seal, type Sealed } from "./secret.ts";

/** JSON columns in which the service writes individual keys. */
const KEYED: ReadonlySet<string> = new Set(
  SERVICE_FIELDS.flatMap(({ field }) =>
    field.includes(".") ? [field.slice(0, field.indexOf("."))] : [],
  ),
);

/** Compares sealed secrets, also if they are sealed for different places. */
export type SameSecret = (left: Sealed, right: Sealed) => boolean;

/** A secret may be sealed for two places: the snapshot and the node. */
export function sameSecret(seal: Seal): SameSecret {
  return (left, right) => isSameText(left, right, seal);
}

export const NUMBERS: ReadonlySet<string> = new Set(["id", "node_id"]);

/** Columns of a staged load, until the machine is released. */
const STAGES: ReadonlySet<string> = new Set(["maintenance", "maintenance_reason"]);

/** Protection that was cleared at the end of the window. Any other change is a difference. */
function isUnguarded(column: string, planned: Row, found: Row): boolean {
  const isClear = found.protected !== true;
  if (column === "protected" || column === "protected_reason")
    return planned.protected === true && isClear && (found[column] ?? false) === false;
  return (
    column === "automated_clean" && planned[column] === false && (found[column] ?? null) === null
  );
}

interface Compared {
  readonly differs: readonly FieldChange[];
  /** Differences that Ironic may write, or that show a staged or finished row. */
  readonly allowed: readonly FieldChange[];
}

const AS_PLANNED: Compared = { differs: [], allowed: [] };

/** By column and key. A column outside the plan was empty after the load, so a value differs. */
export function compareRow(planned: Row, found: Row, same: SameSecret): Compared {
  if (found === planned) return AS_PLANNED;
  const differs: FieldChange[] = [];
  const allowed: FieldChange[] = [];
  const stages = isStaged(planned, found);
  const add = (field: string, change: Change): void => {
    const mine =
      (stages && STAGES.has(field)) ||
      isServiceField(field, change, { planned, found }) ||
      isUnguarded(field, planned, found);
    (mine ? allowed : differs).push({ field, ...change });
  };
  const visit = (column: string): void => {
    if (planned[column] === undefined && NUMBERS.has(column)) return;
    const desired = planned[column] ?? null;
    const got = found[column] ?? null;
    if (desired === got || (isNothing(desired) && isNothing(got))) return;
    if (isKeyed(column, desired, got)) compareKeys(column, desired ?? {}, got ?? {}, same, add);
    else if (!equal(desired, got, same)) add(column, { planned: desired, found: got });
  };
  eachName(planned, found, visit);
  return { differs, allowed };
}

type Change = Pick<FieldChange, "planned" | "found">;

function isKeyed(column: string, desired: Json, got: Json): boolean {
  if (isPlain(desired)) return isPlain(got) || got === null;
  return desired === null && isPlain(got) && KEYED.has(column);
}

function isPlain(value: Json): boolean {
  return isObject(value) && !isSealed(value);
}

function compareKeys(
  path: string,
  desired: Json,
  got: Json,
  same: SameSecret,
  add: (field: string, change: Change) => void,
): void {
  const [planned, found] = [objectOf(desired), objectOf(got)];
  eachName(planned, found, (key) => {
    const [is, was] = [Object.hasOwn(found, key), Object.hasOwn(planned, key)];
    const item = was ? (planned[key] ?? null) : null;
    const got = is ? (found[key] ?? null) : null;
    if (!is || !was || !equal(item, got, same))
      add(`${path}.${key}`, { planned: item, found: got });
  });
}

/** Each name in either object once, starting with the first object. */
function eachName(one: JsonObject, other: JsonObject, visit: (name: string) => void): void {
  // Parsed JSON and own rows: no inherited properties.
  for (const name in one) visit(name);
  for (const name in other) if (!Object.hasOwn(one, name)) visit(name);
}

function equal(left: Json, right: Json, same: SameSecret): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null)
    return false;
  if (isSealed(left) || isSealed(right))
    return isSealed(left) && isSealed(right) && same(left, right);
  if (Array.isArray(left) || Array.isArray(right))
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => equal(item, right[index] ?? null, same))
    );
  const [one, other] = [left as JsonObject, right as JsonObject];
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every(
      (key) => Object.hasOwn(other, key) && equal(one[key] ?? null, other[key] ?? null, same),
    )
  );
}
