import { isObject } from "../../model/json.ts";
import type { ComputeSize } from "../../model/nova-rows.ts";
import type { PlannedMachine } from "../../model/plan.ts";

/** What a compute node has, and the property of the machine it is taken from. */
const SIZES = [
  ["vcpus", "cpus"],
  ["memory_mb", "memory_mb"],
  ["local_gb", "local_gb"],
] as const;

/** Live compute nodes by the uuid of their node, lower case. */
type ComputesOf = (
  uuids: readonly string[],
) => Promise<ReadonlyMap<string, readonly ComputeSize[]>>;

export interface ComputeFault {
  readonly machine: string | null;
  readonly fault: string;
}

/** Machines without a compute node that are told one by one. */
const HELD = 1000;

/**
 * What is wrong with the live compute nodes of a plan's machines. Before the new nova-compute ran
 * there need not be any; once one machine has one of the ironic driver, each must.
 *
 * @source facts/systems.md D-14, D-15
 */
export async function* auditComputes(
  machines: AsyncIterable<readonly PlannedMachine[]>,
  computesOf: ComputesOf,
): AsyncGenerator<ComputeFault> {
  let started = false;
  const without: (string | null)[] = [];
  let more = 0;
  for await (const batch of machines) {
    const found = await computesOf(batch.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])));
    for (const machine of batch) {
      if (!machine.records.some(({ resource }) => resource === "node")) continue;
      const rows = found.get(machine.uuid?.toLowerCase() ?? "") ?? [];
      const has = rows.some(({ hypervisor_type }) => hypervisor_type === "ironic");
      started ||= has;
      if (!has && without.length < HELD) without.push(machine.uuid);
      else if (!has) more += 1;
      for (const fault of computeFaults(machine, rows)) yield { machine: machine.uuid, fault };
    }
  }
  if (!started) return;
  for (const machine of without)
    yield {
      machine,
      fault: "no live compute node of the ironic driver, and other machines have theirs",
    };
  if (more > 0)
    yield {
      machine: null,
      fault: `${more} more machines have no live compute node of the ironic driver`,
    };
}

/**
 * What is wrong with the live compute nodes of a machine: there must be one at most, and what the
 * ironic driver wrote must be what the machine has. A row of zeros offers nothing: its node is in
 * maintenance, has no power state yet, or is in use on a later Nova.
 *
 * @source facts/systems.md D4; facts/rehearsal.md 2
 */
function computeFaults(
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
