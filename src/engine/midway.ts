import { MigrationError } from "../lib/error.ts";
import type { RefusalCode } from "../lib/refusals.ts";

/** Errors after which something may be committed: a lost connection, or a service. */
const MAYBE_COMMITTED: ReadonlySet<RefusalCode> = new Set([
  "N2I-E200",
  "N2I-E210",
  "N2I-E211",
  "N2I-E212",
  "N2I-E213",
  "N2I-E216",
  "N2I-E217",
]);

/** Whether the failure occurred before anything was committed. */
export function committedNothing(cause: unknown): cause is MigrationError {
  return cause instanceof MigrationError && !MAYBE_COMMITTED.has(cause.code);
}

/** If something was or may be committed, the error reports that first. */
export function midway(command: string, progress: string, some: boolean, cause: unknown): unknown {
  if (!(cause instanceof MigrationError) || (!some && committedNothing(cause))) return cause;
  return stoppedAfter(command, progress, cause);
}

/** Missing privilege: the failed call changed nothing. */
export function isDenied(cause: unknown): boolean {
  return cause instanceof MigrationError && ["N2I-E206", "N2I-E211"].includes(cause.code);
}

/** @param done progress: `3 machines` */
export function stoppedAfter(command: string, done: string, cause: MigrationError): MigrationError {
  const message = `${command} stopped after ${done}: ${cause.code} ${cause.message}`;
  return new MigrationError("N2I-E301", message, { cause });
}
