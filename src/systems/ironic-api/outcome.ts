import { MigrationError } from "../../lib/error.ts";
import type { Row } from "../../model/machine.ts";

/** Rows to create or delete. The node is null if only ports are missing. */
export interface AdoptedMachine {
  readonly uuid: string;
  readonly node: Row | null;
  readonly ports: readonly Row[];
}

/** Ids are those of steps. */
export interface AdoptionOutcome {
  readonly done: string[];
  readonly found: string[];
  readonly left: { readonly id: string; readonly why: string }[];
  failed: string | null;
  /** Its objects in Ironic, for messages. Empty if none is ours. */
  stands: string;
  /** An error that stops all machines. */
  broke: MigrationError | null;
}

export function portId({ uuid }: Row): string {
  return `port:${String(uuid)}`;
}

const NOBODY_KNOWS = "its objects in Ironic are unknown";

export function noOutcome(): AdoptionOutcome {
  return { done: [], found: [], left: [], failed: null, stands: NOBODY_KNOWS, broke: null };
}

export function withState(why: string, { stands }: AdoptionOutcome): string {
  return stands === "" ? why : `${why}; ${stands}`;
}

/** Ends with the partial outcome after an error. @param tell adds a reason to the outcome */
export async function toItsEnd(
  outcome: AdoptionOutcome,
  work: () => Promise<void>,
  tell: (why: string) => void,
): Promise<AdoptionOutcome> {
  try {
    await work();
  } catch (cause) {
    // Other errors are bugs.
    if (!(cause instanceof MigrationError)) throw cause;
    outcome.broke = cause;
    tell(`${cause.code} ${cause.message}`);
  }
  return outcome;
}
