import { MigrationError } from "../../lib/error.ts";
import type { Row } from "../../model/machine.ts";

/** One machine's rows to make or to delete; its node is null where only ports are missing. */
export interface AdoptedMachine {
  readonly uuid: string;
  readonly node: Row | null;
  readonly ports: readonly Row[];
}

/** What became of one machine; ids as steps have them. */
export interface AdoptionOutcome {
  readonly done: string[];
  readonly found: string[];
  readonly left: { readonly id: string; readonly why: string }[];
  /** Why it did not get to where it should be. */
  failed: string | null;
  /** What of it is in Ironic, in words; empty where that is none of ours. */
  stands: string;
  /** Why nothing more can be asked or written down, of any machine. */
  broke: MigrationError | null;
}

/** The id of the step of a port's row. */
export function portId({ uuid }: Row): string {
  return `port:${String(uuid)}`;
}

const NOBODY_KNOWS = "nobody knows yet what of it is in Ironic";

export function noOutcome(): AdoptionOutcome {
  return { done: [], found: [], left: [], failed: null, stands: NOBODY_KNOWS, broke: null };
}

/** A reason, and what is there now. */
export function withStand(why: string, { stands }: AdoptionOutcome): string {
  return stands === "" ? why : `${why}; ${stands}`;
}

/**
 * Lets one machine's work end with what is known of it, whatever broke.
 *
 * @param tell adds to the outcome what an operator must know of a machine that was left midway
 */
export async function toItsEnd(
  outcome: AdoptionOutcome,
  work: () => Promise<void>,
  tell: (why: string) => void,
): Promise<AdoptionOutcome> {
  try {
    await work();
  } catch (cause) {
    // Anything else is a bug, and ends everything.
    if (!(cause instanceof MigrationError)) throw cause;
    outcome.broke = cause;
    tell(`${cause.code} ${cause.message}`);
  }
  return outcome;
}
