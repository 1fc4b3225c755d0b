import { MigrationError } from "../../lib/error.ts";
import type { Row } from "../../model/machine.ts";

/** Rows to create or delete. The node is null if only ports are missing. */
export interface AdoptedMachine {
  readonly uuid: string;
  readonly node: Row | null;
  readonly ports: readonly Row[];
}

/** The ids are step ids. */
export interface AdoptionOutcome {
  readonly done: string[];
  readonly found: string[];
  readonly skipped: { readonly id: string; readonly reason: string }[];
  failed: string | null;
  /** The machine's objects in Ironic, for messages. Empty if none is ours. */
  state: string;
  /** An error that stops all machines. */
  broke: MigrationError | null;
}

export function portId({ uuid }: Row): string {
  return `port:${String(uuid)}`;
}

const UNKNOWN = "its objects in Ironic are unknown";

export function noOutcome(): AdoptionOutcome {
  return { done: [], found: [], skipped: [], failed: null, state: UNKNOWN, broke: null };
}

export function withState(reason: string, { state }: AdoptionOutcome): string {
  return state === "" ? reason : `${reason}; ${state}`;
}

/** Ends with the partial outcome after an error. @param addReason adds a reason to the outcome */
export async function toItsEnd(
  outcome: AdoptionOutcome,
  work: () => Promise<void>,
  addReason: (reason: string) => void,
): Promise<AdoptionOutcome> {
  try {
    await work();
  } catch (cause) {
    // Other errors are bugs.
    if (!(cause instanceof MigrationError)) throw cause;
    outcome.broke = cause;
    addReason(`${cause.code} ${cause.message}`);
  }
  return outcome;
}
