import type { NovaLegName } from "../model/nova/nova-plan.ts";

/**
 * The walk of `apply`: flavors first, so that a rebuild finds the new images whatever becomes of the load;
 * then Ironic's machines; then Nova's rows name the new hosts. What machines share goes last: whether a
 * service is disabled depends on which machines moved.
 */
export const FORWARD = {
  beforeIronic: ["flavors", "api"],
  afterIronic: ["hosts", "shared"],
} as const satisfies { readonly [when: string]: readonly NovaLegName[] };

/**
 * The walk of `rollback`, written out and derived from nothing. Before it Nova's rows of hosts are inspected,
 * as a machine is taken back whole or not at all. Ironic's machines go first: what a conductor works on
 * stays, and its rows of Nova with it. Then hosts with what machines share, then flavors. Each line is
 * reported as one part.
 */
export const BACK_AFTER_IRONIC = [
  { part: "hosts", legs: ["hosts", "shared"] },
  { part: "api", legs: ["api"] },
  { part: "flavors", legs: ["flavors"] },
] as const satisfies readonly { readonly part: string; readonly legs: readonly NovaLegName[] }[];

export const STOPPED = "Stopped on request; run the same command to go on.";

/** @param again the command that goes on */
export function stopped(again: string, more = ""): string {
  return `Stopped on request${more}.\nNext: ${again}`;
}
