import { countBack } from "../engine/back.ts";
import type { Entries } from "../model/journal.ts";
import type { PlannedMove } from "../model/nova/host-move.ts";
import type { MovePlan } from "../run/host-files.ts";
import { fenceJournalled, rowsJournalled } from "./steps/host-move.ts";

/** All that a run changed. */
export const EVERYTHING = { all: true, wants: () => true };

/** Rows that a rollback of this scope is to restore, fences among them, by the journal alone. */
export async function rowsToRestore(
  plans: readonly MovePlan[],
  entries: Entries,
  scope: { readonly all: boolean; readonly wants: (line: PlannedMove) => boolean } = EVERYTHING,
): Promise<number> {
  let rows = scope.all ? await fencesOf(plans, entries) : 0;
  for (const plan of plans) rows += await countBack(rowsJournalled(plan), entries, scope);
  return rows;
}

/** Hosts that this run keeps fenced, by the journal. */
export async function fencesOf(plans: readonly MovePlan[], entries: Entries): Promise<number> {
  let fences = 0;
  for (const plan of plans) {
    const leg = fenceJournalled({ ...plan, fence: plan.manifest.fence });
    fences += await countBack(leg, entries, EVERYTHING);
  }
  return fences;
}
