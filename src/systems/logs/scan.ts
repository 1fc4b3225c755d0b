import { constants, type FileHandle, open } from "node:fs/promises";
import { MigrationError, systemCode } from "../../lib/error.ts";

type Purpose = "read" | "follow";

/** @throws MigrationError N2I-E105 if the path is not a readable regular file */
export async function checkLog(path: string): Promise<void> {
  await (await openLog(path, "read")).close();
}

/** Lines, counted from 1. @throws MigrationError N2I-E105 if it is not a readable regular file */
export async function* linesOf(path: string, from = 1) {
  const handle = await openLog(path, "read");
  try {
    let line = 0;
    for await (const text of handle.readLines({ autoClose: false })) {
      line += 1;
      if (line >= from) yield { line, text };
    }
  } finally {
    await handle.close();
  }
}

/** Does not block on a FIFO. @throws MigrationError N2I-E105 if it is not a regular file */
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

export function logFault(path: string, to: Purpose, cause: unknown): MigrationError {
  const reason = systemCode(cause) ?? "unknown failure";
  return new MigrationError("N2I-E105", `cannot ${to} ${path}: ${reason}`, { cause });
}
