import { diskOf, type FlavorSize, type NodeSize, type Stranded } from "../../model/settings.ts";

/**
 * Flavors that ExactRamFilter, ExactDiskFilter and ExactCoreFilter together leave without a machine:
 * they compare with ==.
 *
 * @source facts/systems.md D4
 */
export function strandedFlavors(
  flavors: readonly FlavorSize[],
  nodes: readonly NodeSize[],
): readonly Stranded[] {
  const sizes = [...new Map(nodes.map((node) => [JSON.stringify(node), node])).values()];
  return flavors.flatMap((flavor) => {
    const apart = sizes.map((node) => differences(flavor, node));
    if (apart.some((found) => found.length === 0)) return [];
    const nearest = apart.toSorted((one, other) => farness(one) - farness(other))[0];
    const wants = `${flavor.vcpus} vcpus, ${flavor.memory_mb} MB of memory, ${diskOf(flavor)} MB of disk`;
    return [
      {
        flavor: flavor.name,
        why:
          nearest === undefined
            ? `wants ${wants}; there is no machine`
            : `wants ${wants}; the nearest of ${nodes.length} machines has ${nearest.map(({ say }) => say).join(", ")}`,
      },
    ];
  });
}

interface Difference {
  readonly say: string;
  /** Share of what is wanted. */
  readonly far: number;
}

/** The fewest differences first, then the smallest. */
function farness(found: readonly Difference[]): number {
  return found.length * 1e6 + found.reduce((sum, { far }) => sum + Math.min(far, 1e4), 0);
}

function differences(flavor: FlavorSize, node: NodeSize): readonly Difference[] {
  const pairs: readonly (readonly [string, number, number | null])[] = [
    ["vcpus", flavor.vcpus, node.cpus],
    ["MB of memory", flavor.memory_mb, node.memory_mb],
    ["MB of disk", diskOf(flavor), node.local_gb === null ? null : node.local_gb * 1024],
  ];
  return pairs
    .filter(([, wanted, there]) => wanted !== there)
    .map(([what, wanted, there]) => ({
      say: `${there ?? "no"} ${what}`,
      far: Math.abs((there ?? 0) - wanted) / Math.max(1, wanted),
    }));
}
