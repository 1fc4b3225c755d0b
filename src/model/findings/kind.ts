import type { Severity } from "../severity.ts";

export interface FindingKind {
  readonly severity: Severity;
  readonly title: string;
  /** What goes wrong when nobody looks, and what to do: for `explain` and reports. */
  readonly advice: string;
  /** A blocking finding the site document can accept: there is a safe way to load the machine. */
  readonly acceptable?: boolean;
}
