import type { JsonObject } from "../../lib/json.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { Rollback } from "../../run/rollback.ts";
import type { Advice } from "../../window/runner/next-step.ts";
import type { RollbackArgs } from "../options/rollback.ts";
import type { StatusArgs } from "../options/status.ts";
import type { VerifyArgs } from "../options/verify.ts";

/** The commands that every kind of run has: what is true of it, what comes next, whether it holds, and the way back. */
export interface RunKind {
  readonly status: (
    run: RunFolder,
    args: StatusArgs,
  ) => Promise<{
    readonly fields: JsonObject;
    readonly next: string;
    readonly left?: readonly string[];
  }>;
  readonly advice: (run: RunFolder) => Promise<Advice>;
  /** @throws MigrationError N2I-E100 for an option that this kind does not have */
  readonly verify: (args: VerifyArgs) => Promise<RunVerified>;
  /** @throws MigrationError N2I-E100 for an option that this kind does not have */
  readonly rollback: (args: RollbackArgs) => Rollback;
}

export interface RunVerified {
  readonly texts: readonly string[];
  readonly equal: boolean;
}
