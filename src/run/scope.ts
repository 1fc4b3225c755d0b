import { MigrationError } from "../lib/error.ts";
import type { PlannedMachine } from "../model/plan.ts";

type Lines = () => AsyncIterable<readonly PlannedMachine[]>;

/** By uuid or id. All without names. @throws MigrationError N2I-E306 for an unknown name */
export async function selectionOf(names: readonly string[], lines: Lines) {
  return (await machinesByName(names, lines, "is not in the plan")).selects;
}

/**
 * Whether a machine is named, and the uuids of the named machines.
 * @throws MigrationError N2I-E306 with the text `missing` for unknown names
 */
export async function machinesByName(names: readonly string[], lines: Lines, missing: string) {
  const uuids = new Set<string>();
  if (names.length === 0) return { selects: (_machine: PlannedMachine) => true, uuids };
  const lowerNames = new Set(names.map((name) => name.toLowerCase()));
  const namesOf = ({ uuid, bm_node_id }: PlannedMachine): readonly string[] =>
    [uuid?.toLowerCase() ?? "", String(bm_node_id)].filter((name) => lowerNames.has(name));
  const unfound = new Set(lowerNames);
  for await (const batch of lines())
    for (const machine of batch) {
      const found = namesOf(machine);
      for (const name of found) unfound.delete(name);
      if (found.length > 0 && machine.uuid !== null) uuids.add(machine.uuid);
    }
  if (unfound.size > 0) {
    const quoted = [...unfound].map((name) => JSON.stringify(name)).join(", ");
    throw new MigrationError("N2I-E306", `${quoted} ${missing}`);
  }
  return { selects: (machine: PlannedMachine) => namesOf(machine).length > 0, uuids };
}
