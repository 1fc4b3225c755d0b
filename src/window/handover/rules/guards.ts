import { textOrNull } from "../../../lib/json.ts";
import { type Guarded, type Guards, isOwned } from "../../../model/handover.ts";
import type { Origins, PlannedMachine } from "../../../model/plan.ts";
import type { PlannedNode } from "./judge.ts";

/** A machine with possible guards of this run. */
export interface GuardedNode extends PlannedNode {
  /** The site document sets automated_clean, so that value is kept. */
  readonly asSite: boolean;
  /** The machine was rolled back, so the run is complete without it. */
  readonly optional?: true;
}

/** The action of finish for a machine, or the reason why there is none. */
type Duty =
  | { readonly do: "clear"; readonly change: Partial<Guards>; readonly hasGuard: boolean }
  | { readonly do: "nothing"; readonly hasGuard: boolean; readonly reason: string | null }
  /** No conductor manages the machine. */
  | { readonly do: "staged" }
  | { readonly do: "gone" };

export function nodesOf(
  { records, bm_node_id }: PlannedMachine,
  origins: Origins,
): readonly GuardedNode[] {
  const isSite = (at: number): boolean => {
    const [field, origin] = origins[at] ?? ["", ""];
    return field === "automated_clean" && origin.startsWith("site document ");
  };
  return records
    .filter(({ resource }) => resource === "node")
    .map(({ row, origins: from }) => ({
      ...{ uuid: String(row.uuid), bm_node_id, row },
      asSite: from.some(isSite),
    }));
}

/**
 * The protection to remove: protection with our reason, and disabled cleaning that is not from the
 * site document. A machine that the plan has in maintenance keeps its protection or, if it has
 * none, disabled cleaning, until the operator has checked it.
 */
export function dutyOf({ row, asSite }: GuardedNode, found: Guarded | undefined): Duty {
  if (found === undefined) return { do: "gone" };
  if (isOwned(found.maintenance, found.maintenance_reason)) return { do: "staged" };
  const isProtected = row.protected === true && typeof row.protected_reason === "string";
  const guarded = found.protected && isProtected && found.protected_reason === row.protected_reason;
  const isChecked = row.maintenance !== true || !found.maintenance;
  const uncleaned = row.automated_clean === false && !asSite && found.automated_clean === false;
  // An unprotected disk is not wiped before the operator has checked it.
  const hasGuard = !isChecked && (guarded || uncleaned);
  const change: Partial<Guards> = {
    ...(guarded && isChecked && { protected: false, protected_reason: null }),
    ...(uncleaned && (isChecked || guarded) && { automated_clean: null }),
  };
  if (Object.keys(change).length > 0) return { do: "clear", change, hasGuard };
  const reason = found.protected_reason ?? "without a reason";
  const cause = found.protected && !guarded ? `protected by another user: ${reason}` : null;
  return { do: "nothing", hasGuard, reason: hasGuard ? IN_PLAN : cause };
}

const IN_PLAN = "in maintenance by the plan: protected, or not cleaned, until you decide";

/** The plan's values of the cleared fields. */
export function guardsOf({ row }: GuardedNode, cleared: ReadonlySet<string>): Partial<Guards> {
  const { protected_reason } = row;
  return {
    ...(cleared.has("protected") && {
      protected: true,
      protected_reason: textOrNull(protected_reason),
    }),
    ...(cleared.has("automated_clean") && { automated_clean: false }),
  };
}
