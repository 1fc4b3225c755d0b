import type { Json } from "./json.ts";
import { type Changed, OWN_FIELDS, type OwnField, type Rows } from "./own-fields.ts";

const BY_NAME = new Map<string, OwnField[]>();
for (const own of OWN_FIELDS) {
  const those = BY_NAME.get(own.field);
  if (those === undefined) BY_NAME.set(own.field, [own]);
  else those.push(own);
}

/** JSON columns of which it writes single keys. */
const KEYED: ReadonlySet<string> = new Set(
  OWN_FIELDS.flatMap(({ field }) =>
    field.includes(".") ? [field.slice(0, field.indexOf("."))] : [],
  ),
);

export function hasOwnKeys(column: string): boolean {
  return KEYED.has(column);
}

/**
 * Whether a field differs from the plan by the service's own doing: then it makes the row no other
 * row, in its database and over its API.
 *
 * @param field `power_state`, `instance_info.image_type`
 */
export function isOwn(field: string, change: Omit<Changed, "key">, rows: Rows): boolean {
  const dot = field.indexOf(".");
  const key = field.slice(dot + 1);
  const names = [
    field,
    ...(dot >= 0 ? [`${field.slice(0, dot)}.*`] : []),
    ...(dot < 0 && field.endsWith("_interface") ? ["*_interface"] : []),
  ];
  return names
    .flatMap((name) => BY_NAME.get(name) ?? [])
    .some(
      ({ when, only }) =>
        (when === "always" || isNothing(change.planned)) &&
        (only === undefined || only({ ...change, key }, rows)),
    );
}

/** NULL and an empty object are the same to Ironic. @source facts/ironic.md 1.5 */
export function isNothing(value: Json): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
