import type { JsonObject } from "../../lib/json.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { Rollback } from "../../run/rollback.ts";
import type { Sink } from "../../run/sink.ts";
import type { Advice } from "../../window/runner/next-step.ts";
import { type ListArgs, sinkOf } from "../commands/shared.ts";
import type { RollbackArgs, VerifyArgs } from "../options/apply.ts";
import type { StatusArgs } from "../options/status.ts";
import { EVERY } from "../views/every-row.ts";
import { hostVerifiedText } from "../views/hosts.ts";

export interface RunKind {
  readonly status: (
    run: RunFolder,
    args: StatusArgs,
  ) => Promise<{
    readonly fields: JsonObject;
    readonly next: string;
    readonly excluded?: readonly string[];
  }>;
  readonly advice: (run: RunFolder) => Promise<Advice>;
  /** @throws MigrationError N2I-E100 for an option that this kind does not have */
  readonly verify: (args: VerifyArgs) => Promise<RunVerified>;
  /** @throws MigrationError N2I-E100 for an option that this kind does not have */
  readonly rollback: (args: RollbackArgs, report: Sink["report"]) => Promise<Rollback>;
}

export interface RunVerified {
  readonly texts: readonly string[];
  readonly equal: boolean;
}

/** Verifies a run that is not a migration, and lists its rows. */
export async function verifiedBy<A extends ListArgs & { readonly run: string }>(
  args: A,
  verify: (args: A, sink: Sink) => Promise<{ readonly validated: number; readonly wrong: number }>,
): Promise<RunVerified> {
  const counts = await verify(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  return { texts: [hostVerifiedText(counts)], equal: counts.wrong === 0 };
}
