/** What a statement does to a table; LOCK is what SELECT ... FOR UPDATE wants of its user. */
export type Verb = "SELECT" | "LOCK" | "INSERT" | "UPDATE" | "DELETE";

/** A call on extra specs of a flavor, over Nova's API. */
export type SpecCall = "POST" | "PUT" | "DELETE";

/** Verbs by table. */
export type Wanted = ReadonlyMap<string, ReadonlySet<Verb>>;

/** What a user may not do of what is wanted. */
export interface Lacking {
  /** `INSERT nodes`. */
  readonly statements: readonly string[];
  /** What an administrator of the database says to change that. */
  readonly grants: readonly string[];
  /** Tables that are not there at all: no grant fixes that. */
  readonly missing: readonly string[];
}
