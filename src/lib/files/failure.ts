import type { FileHandle } from "node:fs/promises";
import { MigrationError, systemCode } from "../error.ts";

/** N2I-E120 with the file and the system's message. Returns any other error unchanged. */
export function notWritten(path: string, cause: unknown): unknown {
  return isSystem(cause)
    ? new MigrationError("N2I-E120", `cannot write ${path}: ${words(cause)}`, { cause })
    : cause;
}

/** N2I-E110 with the file and the system's message. Returns any other error unchanged. */
export function notRead(path: string, cause: unknown): unknown {
  return isSystem(cause)
    ? new MigrationError("N2I-E110", `cannot read ${path}: ${words(cause)}`, {
        cause,
        fix: "Allow this user to read it, or name another folder.",
      })
    : cause;
}

function isSystem(cause: unknown): cause is Error {
  return cause instanceof Error && "syscall" in cause && systemCode(cause) !== null;
}

/** `no space left on device (ENOSPC)`, without call and path, which the message already names. */
function words(cause: Error): string {
  const [, what] = /^[A-Z0-9]+: (.*?), /.exec(cause.message) ?? [];
  return what === undefined ? cause.message : `${what} (${systemCode(cause) ?? ""})`;
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
  await checkFile(file, path, what, most);
  return file.readFile();
}

export async function checkFile(
  file: FileHandle,
  path: string,
  what: string,
  most: number,
): Promise<void> {
  const found = await file.stat();
  if (!found.isFile()) throw new MigrationError("N2I-E113", `${path} is not a regular file`);
  if (found.size <= most) return;
  const fact = `is too large for ${what} (${found.size} bytes)`;
  throw new MigrationError("N2I-E113", `${path} ${fact}`);
}

const CHUNK = 512 * 1024;

/** Content of a file in chunks. The next read overwrites a chunk. */
export async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  for (let from = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK, from);
    if (bytesRead === 0) return;
    from += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
