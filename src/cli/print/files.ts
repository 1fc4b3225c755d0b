import { MigrationError } from "../../model/error.ts";

/** What the system says when a process, or the whole host, has no more file descriptors. */
const OUT_OF_FILES: readonly unknown[] = ["EMFILE", "ENFILE"];

/**
 * An error behind which is a want of file descriptors, as that: whatever met it first, it is no bug
 * and no fault of a disk, a BMC or a server. What was written is in no doubt by it: an error that
 * tells of a run that stopped midway stays what it is.
 */
export function outOfFiles(error: unknown): unknown {
  if (error instanceof MigrationError && !RENAMED.has(error.code)) return error;
  const seen = new Set<unknown>();
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    seen.add(cause);
    if ("code" in cause && OUT_OF_FILES.includes(cause.code))
      return new MigrationError("N2I-E221", `too many files are open (${String(cause.code)})`, {
        cause: error,
      });
  }
  return error;
}

/** Refusals whose own advice would mislead: a disk, a run folder, a server, a host's programs. */
const RENAMED: ReadonlySet<string> = new Set(["N2I-E110", "N2I-E120", "N2I-E200", "N2I-E400"]);
