import { constants, type FileHandle, open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { MigrationError, systemCode } from "../../lib/error.ts";

/** What a log is opened for, as its refusal says it. */
type Purpose = "read" | "follow";

interface LogLine {
  /** From 1, as editors count. */
  readonly line: number;
  readonly text: string;
}

/** @throws MigrationError N2I-E105 when the log is no regular file, or may not be read */
export async function checkLog(path: string): Promise<void> {
  await (await openLog(path, "read")).close();
}

/**
 * The lines of a log, however large it is.
 *
 * @param from first line that is given
 * @throws MigrationError N2I-E105 when it is no regular file, or may not be read
 */
export async function* linesOf(path: string, from = 1): AsyncGenerator<LogLine> {
  const handle = await openLog(path, "read");
  try {
    const lines = createInterface({
      input: handle.createReadStream({ autoClose: false }),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    let line = 0;
    for await (const text of lines) {
      line += 1;
      if (line >= from) yield { line, text };
    }
  } finally {
    await handle.close();
  }
}

/**
 * A log as it is now; nothing is waited for.
 *
 * @throws MigrationError N2I-E105 when it is no regular file, or may not be read
 */
export async function openLog(path: string, to: Purpose): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if ((await handle.stat()).isFile()) return handle;
  } catch (cause) {
    await handle?.close();
    throw logFault(path, to, cause);
  }
  await handle.close();
  throw new MigrationError("N2I-E105", `cannot ${to} ${path}: it is not a regular file`);
}

/** N2I-E105 of a log that the system does not let be opened or looked at. */
export function logFault(path: string, to: Purpose, cause: unknown): MigrationError {
  const why = systemCode(cause) ?? "unknown failure";
  return new MigrationError("N2I-E105", `cannot ${to} ${path}: ${why}`, { cause });
}
