import type { Machine } from "../../model/machine.ts";
import { diskOf, type MachineFlavor, type NodeSize } from "../../model/settings.ts";

/** What tells resource classes. */
export interface Classes {
  /** Machine's uuid, in lower case -> class of its provider, `CUSTOM_GOLD`. */
  readonly placement: ReadonlyMap<string, string>;
  /** Live flavors for machines, those that no tenant has among them. */
  readonly flavors: readonly MachineFlavor[];
}

/** A class to propose, and why; no name where several may be meant. */
export interface Class {
  readonly name: string;
  readonly why: string;
  /** Named after something, where nothing of Nova or Placement names a class. */
  readonly guess: boolean;
}

export interface Sized {
  readonly node: NodeSize;
  /** In words; equal sizes have equal words. */
  readonly size: string;
  readonly wantsClass: boolean;
  readonly found: Class | null;
}

/** Of a machine by itself: what its provider has, or its tenant's flavor asks for. */
export function classOf({ node, nova }: Machine, placement: Classes["placement"]): Class | null {
  const provider = placement.get(node.uuid?.toLowerCase() ?? "");
  if (provider !== undefined)
    return { name: bare(provider), why: `Placement has ${provider}`, guess: false };
  const flavor = nova?.instance?.flavor ?? null;
  return flavor === null ? null : flavorClass(flavor);
}

function flavorClass({
  name: given,
  extra_specs,
}: Pick<MachineFlavor, "name" | "extra_specs">): Class | null {
  const [only, ...more] = Object.entries(extra_specs).flatMap(([key, value]) =>
    /^resources:CUSTOM_/.test(key) && value === "1" ? key.slice("resources:".length) : [],
  );
  const flavor = `flavor ${given ?? ""}`;
  if (only !== undefined && more.length === 0)
    return { name: bare(only), why: `${flavor} asks for ${only}`, guess: false };
  const name = (given ?? "").replaceAll(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 80);
  return name === "" ? null : { name, why: `named after ${flavor}${GUESS}`, guess: true };
}

/** `CUSTOM_GOLD` as Nova makes it of a node's class `gold`. */
function bare(custom: string): string {
  return custom.replace(/^CUSTOM_/, "").toLowerCase();
}

export function sizeOf({ cpus, memory_mb, local_gb }: NodeSize): string {
  return `${cpus} cpus, ${memory_mb} MiB, ${local_gb} GB`;
}

/** A machine of which nothing is known gets the class of its size. */
export function withSizes<T extends Sized>(
  entries: readonly T[],
  flavors: Classes["flavors"],
): readonly T[] {
  const bySize = new Map<string, Class[]>();
  const note = (size: string, one: Class) => bySize.set(size, [...(bySize.get(size) ?? []), one]);
  const nodes = new Map(entries.map(({ size, node }) => [size, node]));
  for (const [size, node] of nodes)
    for (const flavor of flavors.filter((one) => fits(one, node))) {
      const found = flavorClass(flavor);
      if (found !== null) note(size, found);
    }
  const seen = new Set<string>();
  for (const { size, found } of entries) {
    const key = JSON.stringify([size, found?.name]);
    if (found === null || seen.has(key)) continue;
    seen.add(key);
    note(size, { ...found, why: `as machines of ${size}${GUESS}` });
  }
  const chosen = new Map([...bySize].map(([size, fitting]) => [size, choose(fitting)]));
  return entries.map((entry) =>
    entry.found === null && entry.wantsClass
      ? { ...entry, found: chosen.get(entry.size) ?? null }
      : entry,
  );
}

/** A smaller flavor may run there too, and says nothing about the machine; disks are often larger. */
function fits({ size }: MachineFlavor, { cpus, memory_mb, local_gb }: NodeSize): boolean {
  return (
    size.vcpus === cpus && size.memory_mb === memory_mb && diskOf(size) <= 1024 * (local_gb ?? 0)
  );
}

const GUESS = ": a guess";

/** What names a class counts before what one could be named after; between equals nobody chooses. */
function choose(fitting: readonly Class[]): Class {
  const sure = fitting.filter(({ guess }) => !guess);
  const byName = new Map<string, Class>();
  for (const one of sure.length > 0 ? sure : fitting) {
    const name = one.name.toLowerCase().replaceAll(/[^0-9a-z]+/g, "_"); // as Nova compares them
    if (!byName.has(name)) byName.set(name, one);
  }
  const [only, ...more] = byName.values();
  // That a machine has the size is no word about it.
  if (only !== undefined && more.length === 0)
    return only.why.endsWith(GUESS) ? only : { ...only, why: `${only.why}${GUESS} by the size` };
  const each = [...byName.values()].map(({ name, why }) => `${name} (${why})`);
  return { name: "", why: `several fit: ${each.join(", ")}`, guess: true };
}
