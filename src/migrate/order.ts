import type { NovaLegName } from "../model/nova/nova-plan.ts";

/**
 * The order of `apply`. Flavors come first, so that a rebuild finds the new images even if the load
 * fails. Shared rows come last, because the moved machines decide whether a service is disabled.
 */
export const FORWARD = {
  beforeIronic: ["flavors", "api"],
  afterIronic: ["hosts", "shared"],
} as const satisfies { readonly [when: string]: readonly NovaLegName[] };

/**
 * The order of `rollback` after Nova's host rows are inspected and Ironic's machines are removed.
 * If a conductor works on a machine, its rows in Nova also stay. Each line is reported as one part.
 */
export const BACK_AFTER_IRONIC = [
  { part: "hosts", legs: ["hosts", "shared"] },
  { part: "api", legs: ["api"] },
  { part: "flavors", legs: ["flavors"] },
] as const satisfies readonly { readonly part: string; readonly legs: readonly NovaLegName[] }[];

export const STOPPED = "Stopped on request. Run the same command to continue.";

/** @param again the command that continues */
export function stopped(again: string, more = ""): string {
  return `Stopped on request${more}.\nNext: ${again}`;
}
