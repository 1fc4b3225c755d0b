import { createHash } from "node:crypto";
import type { BmInterface, Machine, SnapshotLine } from "../../model/machine.ts";
import type { Seal } from "../../model/secret.ts";
import type { Database } from "../../systems/database/open.ts";
import { readSchema } from "../../systems/nova-bm/open.ts";
import { readMachines } from "../../systems/nova-bm/read.ts";

/**
 * Machines and interfaces of nova_bm that are not as the snapshot has them, by name: a machine counts as
 * changed with any of its interfaces.
 */
export async function changedSinceExtract(
  lines: AsyncIterable<readonly SnapshotLine[]>,
  database: Database,
  seal: Seal,
): Promise<readonly string[]> {
  const known = new Map<string, string>();
  for await (const batch of lines)
    for (const line of batch)
      known.set(...("orphan" in line ? orphanOf(line.orphan) : machineOf(line)));
  const wrong: string[] = [];
  const look = ([name, digest]: readonly [string, string]): void => {
    const was = known.get(name);
    known.delete(name);
    if (was === undefined) wrong.push(`${name} was added`);
    else if (was !== digest) wrong.push(`${name} was changed`);
  };
  for await (const { machines, orphans } of readMachines(
    database,
    await readSchema(database),
    seal,
  )) {
    for (const orphan of orphans) look(orphanOf(orphan));
    for (const machine of machines) look(machineOf(machine));
  }
  return [...wrong, ...[...known.keys()].map((name) => `${name} is gone`)];
}

/** Without what was found out about it since. */
function machineOf({ node, interfaces }: Machine): [string, string] {
  return [`bm_nodes.id=${node.id}`, digestOf({ node, interfaces })];
}

function orphanOf(orphan: BmInterface): [string, string] {
  return [`bm_interfaces.id=${orphan.id}`, digestOf(orphan)];
}

function digestOf(value: object): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}
