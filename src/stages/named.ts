import { MigrationError } from "../model/error.ts";
import type { PlannedMachine } from "../model/plan.ts";

/**
 * Machines named by uuid or id; all when none is named.
 *
 * @throws MigrationError N2I-E306 for a name no machine of the plan has: nothing is done then
 */
export async function wantedOf(
  names: readonly string[],
  lines: () => AsyncIterable<readonly PlannedMachine[]>,
): Promise<(machine: PlannedMachine) => boolean> {
  if (names.length === 0) return () => true;
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  const namesOf = ({ uuid, bm_node_id }: PlannedMachine): readonly string[] =>
    [uuid?.toLowerCase() ?? "", String(bm_node_id)].filter((name) => wanted.has(name));
  const missing = new Set(wanted);
  for await (const batch of lines())
    for (const name of batch.flatMap(namesOf)) missing.delete(name);
  if (missing.size > 0)
    throw new MigrationError(
      "N2I-E306",
      `${[...missing].map((name) => JSON.stringify(name)).join(", ")} is not in the plan`,
    );
  return (machine) => namesOf(machine).length > 0;
}
