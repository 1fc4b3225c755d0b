import { constants, type FileHandle, open } from "node:fs/promises";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { type LogFault, logFaults } from "../../lib/quotes.ts";

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
async function openLog(path: string, to: Purpose): Promise<FileHandle> {
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

function logFault(path: string, to: Purpose, cause: unknown): MigrationError {
  const reason = systemCode(cause) ?? "unknown failure";
  return new MigrationError("N2I-E105", `cannot ${to} ${path}: ${reason}`, { cause });
}

/** Maximum bytes per read. Of a larger addition, only the end is read. */
const MOST = 4 * 1024 * 1024;
/** Bytes at the beginning that identify a log. */
const HEAD = 256;

type FilePosition = Awaited<ReturnType<typeof opened>> & {
  /** Byte after the last complete line that was read. */
  offset: number;
};

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

async function opened(path: string) {
  const handle = await openLog(path, "follow");
  try {
    const { ino: inode, size } = await handle.stat();
    return { handle, inode, size, head: await bytesAt(handle, 0, HEAD) };
  } catch (cause) {
    await handle.close();
    throw logFault(path, "follow", cause);
  }
}

type Lines = AsyncIterable<{ readonly line: number; readonly text: string }>;

/** Each nova-compute logs this line first when it starts, since Havana. */
const LOADING = /Loading compute driver '([^']+)'/;
const IRONIC = /(?:^|\.)ironic\.(?:driver\.)?IronicDriver$/;
/** Warnings of the ironic driver without a connection or without resources. */
const UNCONNECTED =
  /Unable to authenticate Ironic client|Error contacting Ironic|not retrieve node list|cpu_arch not defined|Power state \S+ not found/i;

/** The driver is as in nova.conf: `ironic.IronicDriver`, or `nova.virt.ironic.IronicDriver`. */
export async function lastStart(lines: Lines) {
  let last: { readonly line: number; readonly driver: string } | null = null;
  for await (const { line, text } of lines) {
    const driver = LOADING.exec(text)?.[1];
    if (driver !== undefined) last = { line, driver };
  }
  return last;
}

/**
 * No release logs a successful connection at INFO, so only Nova's rows prove that resources are
 * reported.
 *
 * @param since lines from the start on
 * @source facts/systems.md D4, R24; nova 26.2 virt/driver.py load_compute_driver, virt/ironic
 */
export async function* computeFaults(
  start: Awaited<ReturnType<typeof lastStart>>,
  since: Lines,
): AsyncGenerator<LogFault> {
  if (start === null) {
    yield { line: 1, text: "it has no nova-compute start: pass a log that begins earlier" };
    return;
  }
  const { line, driver } = start;
  if (!IRONIC.test(driver))
    yield { line, text: `nova-compute was started with the driver ${driver}, not ironic's` };
  yield* logFaults(since, UNCONNECTED);
}
