import { capabilitiesOf } from "../../lib/capabilities.ts";
import { grouped } from "../../lib/grouped.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { createSeveral, type Several, show } from "../../lib/text.ts";
import { masked } from "../../model/ironic/masked.ts";
import type {
  HardwareDifference,
  IdenticalDoc,
  IdenticalField,
  NodeDetail,
  SpareClass,
} from "../../model/switchover.ts";
import { bootsFromVolume, sourceFaults, spareFaults, stayingConnectors } from "./capable.ts";

/** A lock is temporary, so a locked node counts as a spare. */
const PASSING = "N2I-E380";
/** The instance cannot boot elsewhere in its current configuration. */
const INCAPABLE = "N2I-E382";

export function gatherSpares(doc: IdenticalDoc) {
  const machines = new Map<string, { readonly example: NodeDetail; count: number }>();
  const spares: NodeDetail[] = [];
  const [incapable, unusable] = [createSeveral(), createSeveral()];
  return {
    /** An active node. */
    machine(node: NodeDetail) {
      if (!bootsFromVolume(node)) return;
      const whys = sourceFaults(node).filter(({ code }) => code === INCAPABLE);
      if (whys.length > 0) return incapable.add(nodeText(node, whys));
      const key = keyOf(node, doc, "all");
      const group = machines.get(key);
      if (group === undefined) machines.set(key, { example: node, count: 1 });
      else group.count += 1;
    },
    /** A manageable or enrolled node. */
    spare(node: NodeDetail) {
      const whys = spareFaults(node).filter(({ code }) => code !== PASSING);
      if (whys.length > 0) unusable.add(nodeText(node, whys));
      else spares.push(node);
    },
    classes(): readonly SpareClass[] {
      const ordered = spares.toSorted(inOrder);
      const alike = grouped(ordered, (spare) => keyOf(spare, doc, "always"));
      return [...machines.values()].map(({ example, count }) => {
        const candidates = (alike.get(keyOf(example, doc, "always")) ?? []).filter(
          (spare) => unlike(example, spare, doc).length === 0,
        );
        const nearest =
          candidates.length > 0 ? null : nearestOf(ordered, (spare) => unlike(example, spare, doc));
        return { example, machines: count, candidates, nearest };
      });
    },
    /** Machines that boot from a volume but cannot move, with the reason. */
    incapable: incapable as Several,
    /** Nodes that cannot be a spare for any machine, with the reason. */
    unusable: unusable as Several,
  };
}

export function nodeName({ name, uuid }: NodeDetail): string {
  return name ?? uuid;
}

function nodeText(node: NodeDetail, faults: readonly { readonly reason: string }[]): string {
  return `${nodeName(node)} (${faults.map(({ reason }) => reason).join("; ")})`;
}

function keyOf(node: NodeDetail, doc: IdenticalDoc, fields: "always" | "all"): string {
  return `${hardwareKey(node, doc, fields)} ${stayingConnectors(node).join(" ")}`;
}

export function unlike(
  source: NodeDetail,
  spare: NodeDetail,
  doc: IdenticalDoc,
): readonly string[] {
  const [needed, has] = [source, spare].map((node) => stayingConnectors(node).join(" "));
  const connectors =
    needed === has ? [] : [`volume connectors that stay: ${needed || "none"} != ${has || "none"}`];
  return [...differences(source, spare, doc).map(differenceText), ...connectors];
}

/**
 * Spares in the order of choice, locked ones last, and the spare with the fewest differences.
 *
 * @param nodes without ports and volumes
 */
export function likelySpares(
  machine: NodeDetail,
  nodes: readonly NodeDetail[],
  doc: IdenticalDoc,
): { readonly likely: readonly NodeDetail[]; readonly nearest: SpareClass["nearest"] } {
  // Ports and portgroups need separate requests.
  const scalars = { fields: doc.fields.filter(({ as }) => as !== "list") };
  const usable = nodes
    .filter((node) => spareFaults(node).every(({ code }) => code === PASSING))
    .toSorted(inOrder);
  const whysOf = (node: NodeDetail): readonly string[] =>
    differences(machine, node, scalars).map(differenceText);
  return {
    likely: usable
      .filter((node) => whysOf(node).length === 0)
      .toSorted((one, other) => spareFaults(one).length - spareFaults(other).length),
    nearest: nearestOf(usable, whysOf),
  };
}

function inOrder(one: NodeDetail, other: NodeDetail): number {
  const rank = ({ body }: NodeDetail): number => (body.provision_state === "manageable" ? 0 : 1);
  // Sorts nodes without a name last.
  const nameOf = ({ name }: NodeDetail): string => name ?? "\u{10ffff}";
  return (
    rank(one) - rank(other) || byText(nameOf(one), nameOf(other)) || byText(one.uuid, other.uuid)
  );
}

function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function nearestOf(
  ordered: readonly NodeDetail[],
  whysOf: (spare: NodeDetail) => readonly string[],
): SpareClass["nearest"] {
  const [best] = ordered
    .map((spare) => ({ spare, whys: whysOf(spare) }))
    .toSorted((one, other) => one.whys.length - other.whys.length);
  return best === undefined ? null : { spare: best.spare, reason: best.whys.join("; ") };
}

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
function differenceText({ field, source, destination }: HardwareDifference): string {
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
