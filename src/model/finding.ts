import type { FindingCode } from "./findings.ts";

/** `blocks`: the machine is not loaded. `warning`: loaded, look at it. `note`: for the record. */
export type Severity = "blocks" | "warning" | "note";

/** A problem in the data: told, never thrown, and all of them collected. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** Table, row and column: `bm_nodes.id=9 pm_address`. */
  readonly place: string;
  /** What was found there, without secrets. */
  readonly message: string;
  /** The operator's reason from the site document, when the finding was accepted there. */
  readonly accepted?: string;
}
