import { type Known, type Stray, strayComputes } from "../core/hosts/strays.ts";
import type { Database } from "../edge/database/open.ts";
import { findPlan } from "../edge/disk/archive.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { openPlaces } from "../edge/nova-write/places.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { type NovaFile, novaPlans, openNovaPlan } from "./nova-file.ts";
import { openPlan } from "./run.ts";

/**
 * Compute nodes that Nova made since of machines that are taken back, by every plan that changed
 * Nova's rows, newest first.
 */
export async function* straysOf(
  run: RunFolder,
  database: Database,
  wants: (machine: PlannedMachine) => boolean,
): AsyncGenerator<Stray> {
  const told = new Set<number>();
  const placesOf = await openPlaces(database);
  const plans: NovaFile[] = [];
  for (const sha256 of await novaPlans(run))
    plans.push(await openNovaPlan(await findPlan(run, sha256, "nova")));
  const known = await knownTo(plans);
  for (const nova of plans) {
    // A plan that is lost, and of which nothing is in Ironic, keeps no rollback from its end.
    const path = await findPlan(run, nova.counts.plan).catch(() => null);
    if (path === null) continue;
    const plan = await openPlan(path);
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
async function knownTo(plans: readonly NovaFile[]): Promise<Known> {
  const ids = new Set<number>();
  const machines = new Set<string>();
  for (const nova of plans)
    for await (const batch of nova.lines())
      for (const line of batch) {
        if (!("table" in line) || line.table !== "compute_nodes") continue;
        if (typeof line.key.id === "number") ids.add(line.key.id);
        if (line.machine !== null) machines.add(line.machine);
      }
  return { ids, machines };
}
