import type { PlanCounts, PlanHeader } from "./artefact.ts";
import type { NovaPlanCounts, NovaPlanHeader } from "./nova-plan.ts";

/** A file of a plan. */
export interface PlanFile {
  /** As its own footer has it. */
  readonly sha256: string;
  /** Without header and footer. */
  readonly lines: number;
}

/** plan.json: what is said of a plan as a whole, and of which files it is made. */
export interface PlanManifest extends PlanHeader {
  readonly counts: PlanCounts;
  /** Of its steps on Nova's own rows; null when it was made without Nova. */
  readonly nova: { readonly header: NovaPlanHeader; readonly counts: NovaPlanCounts } | null;
  /** By name, without `.jsonl`. */
  readonly files: { readonly [name: string]: PlanFile };
}

/** The file of machines; those of Nova are named as the legs of its part. */
export const MACHINES = "machines";
