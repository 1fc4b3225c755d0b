import { constants, type FileHandle, open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { MigrationError, systemCode } from "../../model/error.ts";

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
 * @param to what it is opened for, for the message
 * @throws MigrationError N2I-E105 when it is no regular file, or may not be read
 */
export async function openLog(path: string, to: "read" | "follow"): Promise<FileHandle> {
  const refuse = (why: string, cause?: unknown): MigrationError =>
    new MigrationError("N2I-E105", `cannot ${to} ${path}: ${why}`, { cause });
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (cause: unknown) => {
      throw refuse(systemCode(cause) ?? "unknown failure", cause);
    },
  );
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw refuse("it is not a regular file");
}
