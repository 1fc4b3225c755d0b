import { MigrationError } from "../lib/error.ts";
import type { PlannedMachine } from "../model/plan.ts";

type Lines = () => AsyncIterable<readonly PlannedMachine[]>;

interface Named {
  readonly wants: (machine: PlannedMachine) => boolean;
  /** Uuids of those that are named. */
  readonly uuids: ReadonlySet<string>;
}

/** @throws MigrationError N2I-E305 unless either all machines are meant, or some are named */
export function checkScope(all: boolean, names: readonly string[]): void {
  if (all === names.length > 0)
    throw new MigrationError(
      "N2I-E305",
      all ? "--all and --node exclude each other" : "there is no scope for the rollback",
    );
}

/**
 * Machines named by uuid or id; all when none is named.
 *
 * @throws MigrationError N2I-E306 for a name no machine of the plan has: nothing is done then
 */
export async function wantedOf(names: readonly string[], lines: Lines): Promise<Named["wants"]> {
  return (await namedIn(names, lines, "is not in the plan")).wants;
}

/** @throws MigrationError N2I-E306 telling `missing` of the names no machine has */
export async function namedIn(
  names: readonly string[],
  lines: Lines,
  missing: string,
): Promise<Named> {
  const uuids = new Set<string>();
  if (names.length === 0) return { wants: () => true, uuids };
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
  return { wants: (machine) => namesOf(machine).length > 0, uuids };
}
