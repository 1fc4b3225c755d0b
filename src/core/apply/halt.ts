import { MigrationError } from "../../model/error.ts";
import type { RefusalCode } from "../../model/refusals.ts";

/**
 * The line broke: the target may or may not have kept the batch; a service has kept what it did
 * before. All else is met before a commit.
 */
const MAYBE_KEPT: ReadonlySet<RefusalCode> = new Set([
  "N2I-E200",
  "N2I-E210",
  "N2I-E211",
  "N2I-E212",
  "N2I-E213",
  "N2I-E216",
  "N2I-E217",
]);

/** A failure that was met before anything could be kept. */
export function keptNothing(cause: unknown): cause is MigrationError {
  return cause instanceof MigrationError && !MAYBE_KEPT.has(cause.code);
}

/** A failure after something was, or may have been, kept says so first. */
export function midway(what: string, machines: number, some: boolean, cause: unknown): unknown {
  if (!(cause instanceof MigrationError) || (!some && keptNothing(cause))) return cause;
  return halted(what, machines, cause);
}

/** The login lacks a right: the call that met it changed nothing. */
export function isDenied(cause: unknown): boolean {
  return cause instanceof MigrationError && DENIED.has(cause.code);
}

const DENIED: ReadonlySet<RefusalCode> = new Set(["N2I-E206", "N2I-E211"]);

export function halted(what: string, machines: number, cause: MigrationError): MigrationError {
  return new MigrationError(
    "N2I-E301",
    `${what} stopped after ${machines} machines: ${cause.code} ${cause.message}`,
    { cause },
  );
}
