import { type KnownComputes, type Stray, strayComputes } from "../core/hosts/computes.ts";
import type { Database } from "../edge/database/open.ts";
import { findPlan } from "../edge/disk/plan-folder.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { openPlaces } from "../edge/nova-write/by-node.ts";
import type { PlannedMachine } from "../model/plan.ts";
import type { NovaFiles } from "./nova-files.ts";
import { openPlan } from "./run.ts";

/**
 * Compute nodes that Nova made since of machines that are taken back.
 *
 * @param plans all that changed Nova's rows, newest first
 */
export async function* straysOf(
  run: RunFolder,
  plans: readonly NovaFiles[],
  database: Database,
  wants: (machine: PlannedMachine) => boolean,
): AsyncGenerator<Stray> {
  const told = new Set<number>();
  const placesOf = await openPlaces(database);
  const known = await knownTo(plans);
  for (const nova of plans) {
    const plan = await openPlan(await findPlan(run, nova.sha256));
    const machines = async function* (): AsyncGenerator<readonly PlannedMachine[]> {
      for await (const batch of plan.lines()) yield batch.filter(wants);
    };
    for await (const stray of strayComputes(machines(), placesOf, known))
      if (!told.has(stray.id)) {
        told.add(stray.id);
        yield stray;
      }
  }
}

/** What one plan moved, a later one of the run finds where it was moved to. */
async function knownTo(plans: readonly NovaFiles[]): Promise<KnownComputes> {
  const ids = new Set<number>();
  const machines = new Set<string>();
  for (const nova of plans)
    for (const leg of ["hosts", "shared"] as const)
      for await (const batch of nova.steps(leg)) {
        const computes = batch.filter(({ table }) => table === "compute_nodes");
        for (const id of computes.map(({ key }) => key.id)) if (typeof id === "number") ids.add(id);
        for (const machine of computes.flatMap((step) => step.machine ?? [])) machines.add(machine);
      }
  return { ids, machines };
}
