import type { FileHandle } from "node:fs/promises";
import { logFault, openLog } from "./scan.ts";

/** Maximum bytes per read. Of a larger addition, only the end is read. */
const MOST = 4 * 1024 * 1024;
/** Bytes at the beginning that identify a log. */
const HEAD = 256;

interface FilePosition {
  readonly handle: FileHandle;
  readonly inode: number;
  head: Buffer;
  /** Byte after the last complete line that was read. */
  offset: number;
}

/**
 * A rotated log is read to its end, then the new one from its beginning. A log replaced by its own
 * copy continues at the same position. An unreadable log gives no lines.
 *
 * @throws MigrationError N2I-E105 if the path is not a readable regular file
 */
export async function follow(path: string) {
  const found = await opened(path);
  let here: FilePosition = { ...found, offset: found.size };
  const read = async (): Promise<readonly string[]> => {
    const before = here;
    const reopened = await opened(path).catch(() => null);
    if (reopened === null) return gained(before);
    if (reopened.inode === before.inode) {
      await reopened.handle.close();
      const other = !same(before.head, reopened.head);
      if (other) before.offset = 0;
      // While a copy overwrites the file, it is shorter than before.
      if (other || reopened.head.length > before.head.length) before.head = reopened.head;
      return gained(before);
    }
    const hasFullHead = reopened.head.length >= before.head.length;
    const copied = hasFullHead && same(before.head, reopened.head);
    here = { ...reopened, offset: copied ? before.offset : 0 };
    const rest = copied ? [] : await gained(before).catch(() => []);
    await before.handle.close();
    return [...rest, ...(await gained(here))];
  };
  return {
    /**
     * Complete new lines, oldest first. Does not wait. A temporarily unreadable log must not stop a
     * release.
     */
    read: () => read().catch(() => []),
    close: () => here.handle.close(),
  };
}

/** Whether one is the beginning of the other. An empty log matches any. */
function same(before: Buffer, now: Buffer): boolean {
  const length = Math.min(before.length, now.length);
  return before.subarray(0, length).equals(now.subarray(0, length));
}

async function gained(position: FilePosition): Promise<readonly string[]> {
  const { size } = await position.handle.stat();
  if (size <= position.offset) return [];
  const from = Math.max(position.offset, size - MOST);
  const bytes = await bytesAt(position.handle, from, size - from);
  const end = bytes.lastIndexOf(0x0a) + 1;
  // Skips the first line, which is cut.
  const start = from > position.offset ? bytes.indexOf(0x0a) + 1 : 0;
  if (end === 0 && size - from < MOST) return [];
  position.offset = end === 0 ? size : from + end;
  return bytes.toString("utf8", start, end).split("\n").slice(0, -1);
}

async function bytesAt(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

async function opened(
  path: string,
): Promise<Omit<FilePosition, "offset"> & { readonly size: number }> {
  const handle = await openLog(path, "follow");
  try {
    const { ino: inode, size } = await handle.stat();
    return { handle, inode, size, head: await bytesAt(handle, 0, HEAD) };
  } catch (cause) {
    await handle.close();
    throw logFault(path, "follow", cause);
  }
}
