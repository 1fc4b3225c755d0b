import { capabilitiesOf } from "../../lib/capabilities.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { show } from "../../lib/text.ts";
import { masked } from "../../model/ironic/masked.ts";
import type {
  HardwareDifference,
  IdenticalDoc,
  IdenticalField,
  NodeDetail,
} from "../../model/switchover.ts";

/** Differing fields in the order of the document. @source facts/systems.md B3 */
export function differences(
  source: NodeDetail,
  destination: NodeDetail,
  doc: IdenticalDoc,
): readonly HardwareDifference[] {
  const [one, other] = [readingsOf(source, doc), readingsOf(destination, doc)];
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((field) => {
    const [left, right] = [one.get(field), other.get(field)];
    const [mine, its] = [left?.value ?? null, right?.value ?? null];
    const halfway = (left ?? right)?.when === "both" && (mine === null || its === null);
    if (halfway || JSON.stringify(mine) === JSON.stringify(its)) return [];
    const name = field.split(".").at(-1);
    return [{ field, source: masked(mine, name), destination: masked(its, name) }];
  });
}

/** `properties.memory_mb: 16384 != 8192`. */
export function differenceText({ field, source, destination }: HardwareDifference): string {
  return `${field}: ${valueText(source)} != ${valueText(destination)}`;
}

function valueText(value: Json): string {
  if (value === null) return "nothing";
  if (typeof value === "string") return show(value);
  if (!Array.isArray(value)) return String(value);
  const counts = new Map<string, number>();
  for (const one of value) counts.set(String(one), (counts.get(String(one)) ?? 0) + 1);
  const times = [...counts].map(([text, count]) => (count === 1 ? text : `${count} x ${text}`));
  return `[${times.join("; ")}]`;
}

/**
 * @param fields `always`: equal for identical nodes; `all`: also those compared only if both have
 * them
 */
export function hardwareKey(node: NodeDetail, doc: IdenticalDoc, fields: "always" | "all"): string {
  const counted = [...readingsOf(node, doc)]
    .filter(([, { when }]) => fields === "all" || when === undefined)
    .map(([field, { value }]) => [field, value] as const);
  // The order of capabilities is irrelevant.
  return JSON.stringify(counted.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Compared values of a node by field; each capability is a field. */
function readingsOf(
  node: NodeDetail,
  { fields }: IdenticalDoc,
): ReadonlyMap<string, { readonly value: Json; readonly when: IdenticalField["when"] }> {
  const all = { ...node.body, ports: node.ports, portgroups: node.portgroups };
  return new Map(
    fields.flatMap((field) => {
      const found = at(all, field.field.split("."));
      return readAs(found, field).map(([name, value]) => [name, { value, when: field.when }]);
    }),
  );
}

function at(within: JsonObject, [name = "", ...rest]: readonly string[]): Json {
  const found = Object.hasOwn(within, name) ? (within[name] ?? null) : null;
  if (rest.length === 0) return found;
  return isObject(found) ? at(found, rest) : null;
}

function readAs(found: Json, is: IdenticalField): readonly (readonly [string, Json])[] {
  switch (is.as) {
    case "text":
      return [[is.field, plain(found)]];
    case "number":
      return [[is.field, numberOf(found)]];
    case "capabilities":
      return [...capabilitiesOf(found)]
        .filter(([name]) => is.ignore?.includes(name) !== true)
        .map(([name, value]) => [`${is.field}.${name}`, value]);
    case "set":
      return [[is.field, [...new Set(Array.isArray(found) ? found.map(String) : [])].toSorted()]];
    case "list":
      return [[is.field, things(found, is.of ?? [])]];
  }
}

/** Ironic uses an empty string for a missing value. */
function plain(value: Json): Json {
  return value === "" ? null : value;
}

/** Properties are free text: 16 equals "16". */
function numberOf(value: Json): Json {
  return typeof value === "string" && /^\s*\d+(\.\d+)?\s*$/.test(value)
    ? Number(value)
    : plain(value);
}

function things(value: Json, members: readonly string[]): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value
    .map((thing: Json) =>
      members.map((name) => `${name}=${JSON.stringify(at(objectOf(thing), [name]))}`).join(" "),
    )
    .toSorted();
}
