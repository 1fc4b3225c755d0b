import { countBack, type Scope } from "../engine/back.ts";
import { inTransaction } from "../engine/batches.ts";
import type { Entries } from "../model/journal.ts";
import { HOST_FENCE, HOST_ROWS, type PlannedMove } from "../model/nova/host-move.ts";
import type { NovaStep } from "../model/nova/nova-plan.ts";
import type { MovePlan } from "../run/host-files.ts";
import { fenceLeg, rowsLeg } from "./steps/host-move.ts";

export const EVERYTHING = { all: true, wants: () => true };

export async function rowsToRestore(
  plans: readonly MovePlan[],
  entries: Entries,
  scope: Scope<PlannedMove> = EVERYTHING,
): Promise<number> {
  let rows = scope.all ? await fencesOf(plans, entries) : 0;
  const part = { name: HOST_ROWS, size: inTransaction() };
  for (const plan of plans) rows += await countBack(rowsLeg(part, plan), entries, scope);
  return rows;
}

export async function fencesOf(
  plans: readonly MovePlan[],
  entries: Entries,
  scope: Pick<Scope<NovaStep>, "wants"> = EVERYTHING,
): Promise<number> {
  let fences = 0;
  const part = { name: HOST_FENCE, size: inTransaction() };
  for (const plan of plans) fences += await countBack(fenceLeg(part, plan), entries, scope);
  return fences;
}
