/** Types of the page and its script. No imports, because one runs in Node and one in a browser. */

/** A machine in the index, its columns first in the order of the list. */
export type ListedMachine = readonly [
  id: number,
  /** Index in `About.verdicts`. */
  verdict: number,
  uuid: string,
  address: string,
  instance: string,
  host: string,
  reason: string,
  instance_uuid: string,
  /** Codes of findings without `N2I-`, separated by spaces. */
  codes: string,
];

export interface Detail {
  /** `bm_nodes.id=1: create, state free -> available`. */
  readonly title: string;
  /** For each finding: code, severity, place, message, and the reason for which it was accepted. */
  readonly found: readonly (readonly [string, string, string, string, string])[];
  /**
   * For each record: its title, its lines, and the number of NULL fields. A line is `+field = value`,
   * and the index of its origin in the block; -1: none.
   */
  readonly records: readonly (readonly [string, readonly (readonly [string, number])[], number])[];
}

/** Consecutive machines, so that common values are stored once. */
export interface DetailBlock {
  readonly origins: readonly string[];
  readonly machines: readonly Detail[];
}

/** Machines per block of details. */
export const DETAILS = 250;

/** Rows in the page itself, for browsers without scripts. */
export const STATIC_ROWS = 25;

export interface About {
  readonly run: string;
  readonly verdicts: readonly { readonly verdict: string; readonly sign: string }[];
}
