import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { MigrationError, systemCode, systemText } from "../error.ts";

/** N2I-E120 with the file and the system's message. Returns any other error unchanged. */
export function notWritten(path: string, cause: unknown): unknown {
  return isSystem(cause)
    ? new MigrationError("N2I-E120", `cannot write ${path}: ${systemText(cause)}`, { cause })
    : cause;
}

/** The same for a promise that fails. */
export function orNotWritten(path: string): (cause: unknown) => never {
  return (cause) => {
    throw notWritten(path, cause);
  };
}

/** N2I-E110 with the file and the system's message. Returns any other error unchanged. */
export function notRead(path: string, cause: unknown): unknown {
  return isSystem(cause)
    ? new MigrationError("N2I-E110", `cannot read ${path}: ${systemText(cause)}`, {
        cause,
        fix: "Allow this user to read it, or specify a different folder.",
      })
    : cause;
}

function isSystem(cause: unknown): cause is Error {
  return cause instanceof Error && "syscall" in cause && systemCode(cause) !== null;
}

/**
 * Content of an open file.
 * @param what expected kind of file, for the message
 * @param most bytes
 * @throws MigrationError N2I-E113 if it is not a regular file or is too large
 */
export async function contentOf(
  file: FileHandle,
  path: string,
  what: string,
  most: number,
): Promise<Buffer> {
  const found = await file.stat();
  if (!found.isFile()) throw new MigrationError("N2I-E113", `${path} is not a regular file`);
  if (found.size > most) {
    const fact = `is too large for ${what} (${found.size} bytes)`;
    throw new MigrationError("N2I-E113", `${path} ${fact}`);
  }
  return file.readFile();
}

/** Changes at each write, but not with a backup link or a mode change. */
export function writtenOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs].join(" ");
}
