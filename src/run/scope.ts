import { MigrationError } from "../lib/error.ts";
import type { PlannedMachine } from "../model/plan.ts";

type Lines = () => AsyncIterable<readonly PlannedMachine[]>;

/** @throws MigrationError N2I-E305 unless the scope is either all machines or named ones */
export function checkScope(all: boolean, names: readonly string[]): void {
  if (all === names.length > 0)
    throw new MigrationError(
      "N2I-E305",
      all ? "--all and --node are mutually exclusive" : "no scope was specified for the rollback",
    );
}

/** By uuid or id. All without names. @throws MigrationError N2I-E306 for an unknown name */
export async function selectionOf(names: readonly string[], lines: Lines) {
  return (await machinesByName(names, lines, "is not in the plan")).wants;
}

/**
 * Whether a machine is named, and the uuids of the named machines.
 * @throws MigrationError N2I-E306 with the text `missing` for unknown names
 */
export async function machinesByName(names: readonly string[], lines: Lines, missing: string) {
  const uuids = new Set<string>();
  if (names.length === 0) return { wants: (_machine: PlannedMachine) => true, uuids };
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  const namesOf = ({ uuid, bm_node_id }: PlannedMachine): readonly string[] =>
    [uuid?.toLowerCase() ?? "", String(bm_node_id)].filter((name) => wanted.has(name));
  const unfound = new Set(wanted);
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
  return { wants: (machine: PlannedMachine) => namesOf(machine).length > 0, uuids };
}
