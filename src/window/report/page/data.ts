/** What the page and its script agree on. Imports nothing: the one is checked for Node, the other for a browser. */

/** Machines in columns; the same place in each is the same machine. */
export interface IndexColumns {
  readonly id: readonly number[];
  readonly uuid: readonly string[];
  /** Place in `About.verdicts`. */
  readonly verdict: readonly number[];
  readonly host: readonly string[];
  readonly address: readonly string[];
  readonly instance: readonly string[];
  readonly instance_uuid: readonly string[];
  /** Codes of findings, parted by blanks, without their `N2I-`. */
  readonly codes: readonly string[];
  readonly reason: readonly string[];
}

/** A finding of a machine: code, severity, place, message, and the reason it was accepted for. */
type FoundRow = readonly [
  code: string,
  severity: string,
  place: string,
  message: string,
  accepted: string,
];

/** A line of a diff: `+field = value`, and the place of its origin in the block; -1: none. */
type DiffRow = readonly [line: string, origin: number];

export interface Detail {
  /** `bm_nodes.id=1: create, state free -> available`. */
  readonly title: string;
  readonly found: readonly FoundRow[];
  /** Per record its title, its lines, and how many fields are left NULL. */
  readonly records: readonly (readonly [string, readonly DiffRow[], number])[];
}

/** Machines next to each other, so that what they share is stored once. */
export interface DetailBlock {
  readonly origins: readonly string[];
  readonly machines: readonly Detail[];
}

/** Machines of a block of details. */
export const DETAILS = 250;

/** Rows that stand in the page itself, for who has no scripts. */
export const STATIC_ROWS = 25;

export interface About {
  readonly run: string;
  readonly verdicts: readonly { readonly verdict: string; readonly sign: string }[];
}
