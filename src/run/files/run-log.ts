import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

const NAME = "log.jsonl";
/** What a folder has that is a run. */
const OF_RUN: readonly string[] = ["snapshot.jsonl", "run.lock"];

/**
 * Adds lines to the log of a run, at once: what comes later may kill the process. Whoever looks at a
 * run may have a copy of it, or no right to write there, so that nothing of this is a failure.
 *
 * @returns whether they need not be kept: written, or never to be written
 */
export function appendRunLog(run: string, lines: string): boolean {
  const here = isOwnRun(run);
  if (here !== true) return here === "never";
  try {
    const how = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const file = openSync(join(run, NAME), how | constants.O_NONBLOCK, 0o600);
    try {
      if (fstatSync(file).isFile()) writeSync(file, lines);
    } finally {
      closeSync(file);
    }
  } catch {
    // A full or read-only disk: what the command does there says so itself.
  }
  return true;
}

/** Whether the folder is a run of this user's alone. */
function isOwnRun(run: string): boolean | "never" {
  try {
    const { uid, mode } = statSync(run);
    if (uid !== (process.getuid?.() ?? uid) || (mode & 0o077) !== 0) return "never";
    return OF_RUN.some((name) => existsSync(join(run, name)));
  } catch {
    return false;
  }
}
