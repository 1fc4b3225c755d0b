import type { FindingCode } from "./findings.ts";
import type { Severity } from "./severity.ts";

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
