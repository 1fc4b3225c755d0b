import { isObject } from "../../model/json.ts";
import type { ComputeSize } from "../../model/nova-rows.ts";
import type { PlannedMachine } from "../../model/plan.ts";

/** What a compute node has, and the property of the machine it is taken from. */
const SIZES = [
  ["vcpus", "cpus"],
  ["memory_mb", "memory_mb"],
  ["local_gb", "local_gb"],
] as const;

/**
 * What is wrong with the live compute nodes of a machine: there must be one at most, and what the
 * ironic driver wrote must be what the machine has. A row of zeros offers nothing: its node is in
 * maintenance, has no power state yet, or is in use on a later Nova.
 *
 * @source facts/systems.md D4; facts/rehearsal.md 2
 */
export function computeFaults(
  { records }: PlannedMachine,
  rows: readonly ComputeSize[],
): readonly string[] {
  const node = records.find(({ resource }) => resource === "node")?.row;
  if (node === undefined) return [];
  const properties = isObject(node.properties) ? node.properties : {};
  const many =
    rows.length > 1
      ? [`${rows.length} live compute nodes: ${rows.map(({ id }) => id).join(", ")}`]
      : [];
  const sizes = rows
    .filter(
      (row) => row.hypervisor_type === "ironic" && SIZES.some(([column]) => row[column] !== 0),
    )
    .flatMap((row) =>
      SIZES.filter(([column, key]) => row[column] !== properties[key]).map(
        ([column, key]) =>
          `compute_nodes.id=${row.id} ${column} is ${row[column]}, properties.${key} ${JSON.stringify(properties[key] ?? null)}`,
      ),
    );
  return [...many, ...sizes];
}
