import type { JsonObject } from "../../../lib/json.ts";
import type { Instance, Machine } from "../../../model/machine.ts";
import { type Desired, nodeOf, type PlannedMachine } from "../../../model/plan.ts";

/** Facts about machines that flavors are checked against. */
export interface FlavorFacts {
  /** Values that machines advertise, by capability or cpu_arch. */
  readonly advertised: ReadonlyMap<string, ReadonlySet<string>>;
  readonly hosts: ReadonlySet<string>;
  /** Resource classes of the machines with instances of a flavor, by flavor id. */
  readonly flavors: ReadonlyMap<number, ReadonlySet<string | null>>;
  readonly classes: ReadonlySet<string | null>;
  /** Deploy images in driver_info. */
  readonly images: ReadonlySet<string>;
  /** By flavor name: old deploy images in the flavor copies of instances. */
  readonly copies: ReadonlyMap<string, Copies>;
}

interface Copies {
  readonly instances: number;
  /** UUIDs of the first ones. */
  readonly some: readonly string[];
  readonly images: ReadonlySet<string>;
}

/** A message names at most this many instances. */
const NAMED = 3;

/** Collects the facts of migrated machines, in memory independent of their number. */
export function gather() {
  const advertised = new Map<string, Set<string>>();
  const advertise = (key: string, value: string): void => {
    const values = advertised.get(key);
    if (values === undefined) advertised.set(key, new Set([value]));
    else values.add(value);
  };
  const hosts = new Set<string>();
  const flavors = new Map<number, Set<string | null>>();
  const classes = new Set<string | null>();
  const images = new Set<string>();
  const copies = new Map<string, Copies>();
  let last: Column;
  return {
    ...{ advertised, hosts, flavors, classes, images, copies },
    add({ node, nova }: Machine, line: PlannedMachine): void {
      if (node.service_host !== null) hosts.add(node.service_host);
      const row = nodeOf(line.records);
      if (row === undefined) return;
      const able = member(row.properties, "capabilities");
      // Machines of one host usually have the same.
      if (able !== last) for (const [key, value] of capabilities(able)) advertise(key, value);
      last = able;
      const arch = member(row.properties, "cpu_arch");
      if (typeof arch === "string") advertise("cpu_arch", arch);
      for (const id of deployImages(row.driver_info)) images.add(id);
      const resourceClass = typeof row.resource_class === "string" ? row.resource_class : null;
      classes.add(resourceClass);
      if (nova?.instance?.deleted === false) addCopy(copies, nova.instance);
      const flavor = nova?.instance?.flavor?.id;
      if (flavor === undefined || nova?.instance?.deleted === true) return;
      const known = flavors.get(flavor) ?? new Set<string | null>();
      flavors.set(flavor, known.add(resourceClass));
      if (nova?.instance?.host) hosts.add(nova.instance.host);
    },
  };
}

function addCopy(
  copies: Map<string, Copies>,
  { uuid, flavor, copied_images = [] }: Instance,
): void {
  if (copied_images.length === 0) return;
  const name = flavor?.name ?? flavor?.flavorid ?? "without name";
  const { instances, some, images } = copies.get(name) ?? {
    ...{ instances: 0, some: [], images: new Set<string>() },
  };
  copies.set(name, {
    instances: instances + 1,
    some: some.length < NAMED ? [...some, uuid] : some,
    images: new Set([...images, ...copied_images]),
  });
}

type Column = Desired["row"][string] | undefined;

function member(column: Column, key: string): Column {
  return typeof column === "object" && column !== null && !Array.isArray(column)
    ? (column as { readonly [key: string]: Column })[key]
    : undefined;
}

/** Key and value of each pair in `k:v,k2:v2`. */
function capabilities(text: Column): readonly (readonly [string, string])[] {
  if (typeof text !== "string") return [];
  return text.split(",").flatMap((pair) => {
    const at = pair.indexOf(":");
    return at < 0 ? [] : [[pair.slice(0, at), pair.slice(at + 1)] as const];
  });
}

/** Field names differ by release, but all have these endings. */
function deployImages(driverInfo: Column): readonly string[] {
  if (typeof driverInfo !== "object" || driverInfo === null || Array.isArray(driverInfo)) return [];
  const images: string[] = [];
  const fields = driverInfo as JsonObject;
  for (const key in fields) {
    if (!key.endsWith("deploy_kernel") && !key.endsWith("deploy_ramdisk")) continue;
    const value = fields[key];
    if (typeof value === "string") images.push(value);
  }
  return images;
}
