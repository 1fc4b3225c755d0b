import { type Json, objectOf } from "../../../lib/json.ts";
import type { Instance, Machine } from "../../../model/machine.ts";
import { nodeOf, type PlannedMachine } from "../../../model/plan.ts";

interface Copies {
  readonly instances: number;
  /** UUIDs of the first instances. */
  readonly some: readonly string[];
  readonly images: ReadonlySet<string>;
}

const MAX_INSTANCES = 3;

/** Collects the facts of migrated machines, in memory independent of their number. */
export function gather() {
  /** Values that machines advertise, by capability or cpu_arch. */
  const advertised = new Map<string, Set<string>>();
  const advertise = (key: string, value: string): void =>
    void advertised.set(key, (advertised.get(key) ?? new Set<string>()).add(value));
  const hosts = new Set<string>();
  /** Resource classes of the machines with instances of a flavor, by flavor id. */
  const flavors = new Map<number, Set<string | null>>();
  const classes = new Set<string | null>();
  const images = new Set<string>();
  /** By flavor name: old deploy images in the flavor copies of instances. */
  const copies = new Map<string, Copies>();
  let last: Json | undefined;
  return {
    ...{ advertised, hosts, flavors, classes, images, copies },
    add({ node, nova }: Machine, line: PlannedMachine): void {
      if (node.service_host !== null) hosts.add(node.service_host);
      const row = nodeOf(line.records);
      if (row === undefined) return;
      const { capabilities: able, cpu_arch: arch } = objectOf(row.properties);
      // Machines of one host usually have the same capabilities.
      if (able !== last) for (const [key, value] of capabilities(able)) advertise(key, value);
      last = able;
      if (typeof arch === "string") advertise("cpu_arch", arch);
      const info = objectOf(row.driver_info);
      // Field names differ by release, but all have these endings.
      for (const key in info)
        if (/deploy_(?:kernel|ramdisk)$/.test(key) && typeof info[key] === "string")
          images.add(info[key]);
      const resourceClass = typeof row.resource_class === "string" ? row.resource_class : null;
      classes.add(resourceClass);
      if (nova?.instance?.deleted === false) addCopy(copies, nova.instance);
      const flavor = nova?.instance?.flavor?.id;
      if (flavor === undefined || nova?.instance?.deleted === true) return;
      const flavorClasses = flavors.get(flavor) ?? new Set<string | null>();
      flavors.set(flavor, flavorClasses.add(resourceClass));
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
  const existing = copies.get(name);
  copies.set(name, {
    instances: (existing?.instances ?? 0) + 1,
    some: [...(existing?.some ?? []), uuid].slice(0, MAX_INSTANCES),
    images: new Set([...(existing?.images ?? []), ...copied_images]),
  });
}

function capabilities(text: Json | undefined): readonly (readonly [string, string])[] {
  if (typeof text !== "string") return [];
  return text.split(",").flatMap((pair) => {
    const at = pair.indexOf(":");
    return at < 0 ? [] : [[pair.slice(0, at), pair.slice(at + 1)] as const];
  });
}
