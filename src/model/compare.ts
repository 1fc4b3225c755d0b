import { isObject, type Json, type JsonObject } from "./json.ts";
import type { Row } from "./machine.ts";
import type { FieldChange } from "./plan.ts";
import { isSealed, type Sealed } from "./secret.ts";
import { isStaged } from "./staged.ts";

/** Tells whether two sealed secrets are one, though they may be sealed for different places. */
export type SameSecret = (left: Sealed, right: Sealed) => boolean;

/**
 * Columns a conductor changes by itself on a machine nobody touches: they never make a row ours
 * no longer.
 *
 * @source facts/ironic.md 1.6, 2.2
 */
const IRONICS_OWN: ReadonlySet<string> = new Set([
  "power_state",
  "target_power_state",
  "conductor_affinity",
  // A take-over that failed; verify --takeover tells of it.
  "last_error",
  "reservation",
  "updated_at",
  "boot_mode",
  "secure_boot",
]);

/** JSON columns to which it adds keys of its own (`properties.vendor`). */
const GROWING: ReadonlySet<string> = new Set(["properties", "driver_internal_info"]);

/** Keys it adds elsewhere: Juno's and Kilo's take-over of a machine in use. @source facts/ironic.md 2.3 */
const OWN_KEYS: ReadonlySet<string> = new Set(["instance_info.deploy_key"]);

/** Columns that number rows: the database's own, or told by a uuid beside them. */
const NUMBERS: ReadonlySet<string> = new Set(["id", "node_id"]);

/** Columns a staged load writes, until the machine is released. */
const STAGES: ReadonlySet<string> = new Set(["maintenance", "maintenance_reason"]);

/** Columns it fills in where they are NULL: an interface without a name gets the default one. */
function isFilledIn(column: string): boolean {
  return column.endsWith("_interface");
}

/**
 * Columns that hold less than a machine in use was loaded with: finish clears them at the end of the
 * window, or an operator did, and the machine is the same. More, or another reason, is somebody's own.
 */
function isUnguarded(column: string, planned: Row, found: Row): boolean {
  const isClear = found.protected !== true;
  if (column === "protected" || column === "protected_reason")
    return planned.protected === true && isClear && (found[column] ?? false) === false;
  return (
    column === "automated_clean" && planned[column] === false && (found[column] ?? null) === null
  );
}

/** What it writes when it could not read a machine's power three times: fault says that it was it. */
const GIVES_UP: ReadonlySet<string> = new Set(["maintenance", "maintenance_reason", "fault"]);
const POWER_FAILURE = "power failure";

export interface Compared {
  /** Fields that are not as planned. */
  readonly differs: readonly FieldChange[];
  /** Fields that are not as planned but are Ironic's to change, or tell that the row is staged or finished. */
  readonly own: readonly FieldChange[];
}

/**
 * Compares what a plan says of a row with the row, column by column, key by key. A column the plan
 * says nothing of was left empty by the load: what stands there now is somebody else's work.
 */
export function compareRow(planned: Row, found: Row, same: SameSecret): Compared {
  const differs: FieldChange[] = [];
  const own: FieldChange[] = [];
  const stages = isStaged(planned, found);
  const gaveUp = found.fault === POWER_FAILURE;
  const isOwn = (column: string): boolean =>
    IRONICS_OWN.has(column) || (stages && STAGES.has(column)) || (gaveUp && GIVES_UP.has(column));
  for (const [column, want] of Object.entries(planned)) {
    const got = found[column] ?? null;
    if (isObject(want) && !isSealed(want) && (isObject(got) || got === null)) {
      compareKeys(column, want, got ?? {}, same, { differs, own });
    } else if (!equal(want, got, same)) {
      const mine =
        isOwn(column) ||
        (want === null && isFilledIn(column)) ||
        isUnguarded(column, planned, found);
      (mine ? own : differs).push({ field: column, planned: want, found: got });
    }
  }
  for (const [column, got] of Object.entries(found))
    if (planned[column] === undefined && !NUMBERS.has(column) && !isNothing(got))
      (isOwn(column) || isFilledIn(column) ? own : differs).push({
        ...{ field: column, planned: null, found: got },
      });
  return { differs, own };
}

/** NULL and an empty object are the same to Ironic. @source facts/ironic.md 1.5 */
function isNothing(value: Json): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

function compareKeys(
  path: string,
  want: JsonObject,
  got: JsonObject,
  same: SameSecret,
  { differs, own }: { readonly differs: FieldChange[]; readonly own: FieldChange[] },
): void {
  const added = GROWING.has(path) ? own : differs;
  for (const [key, planned] of Object.entries(want)) {
    const found = Object.hasOwn(got, key) ? got[key] : undefined;
    if (found === undefined || !equal(planned, found, same))
      differs.push({ field: `${path}.${key}`, planned, found: found ?? null });
  }
  for (const [key, found] of Object.entries(got))
    if (!Object.hasOwn(want, key)) {
      const field = `${path}.${key}`;
      (OWN_KEYS.has(field) ? own : added).push({ field, planned: null, found });
    }
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
