import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { MigrationError } from "../../lib/error.ts";
import { notWritten } from "../../lib/files/failure.ts";
import { createTemp } from "../../lib/files/temp-file.ts";
import { footerLine, LONGEST_LINE } from "./artefact-form.ts";
import type { RunFolder } from "./run-folder.ts";

/** Bytes per write, if no line is longer. */
const BLOCK = 512 * 1024;
/** Bytes between two syncs, so that the last one is short. */
const SYNC_EVERY = 32 * 1024 * 1024;

/**
 * Starts `name` in the run: JSON Lines with this header and a footer. The file gets its name when
 * it is complete.
 * @throws MigrationError N2I-E120 with the file's name, from every function here
 */
export async function createArtefact(
  run: RunFolder,
  name: string,
  header: { readonly format: string },
) {
  const temp = await createTemp(run.path, name);
  const path = `${run.path}/${name}`;
  const writeAll = writerTo(temp.handle);
  const hash = createHash("sha256");
  let block = Buffer.alloc(0);
  let length = 0; // bytes in the block
  let lines = -1; // without the header
  let disk: Promise<void> = Promise.resolve();

  /**
   * Queues the block. @param room bytes needed for the next line
   * @returns the wait for the previous block, so at most two are in memory
   */
  const flush = (room = 0): Promise<void> => {
    const before = disk;
    const data = block.subarray(0, length);
    [block, length] = [Buffer.allocUnsafeSlow(Math.max(BLOCK, room)), 0];
    hash.update(data);
    disk = before.then(() => writeAll(data));
    disk.catch(() => undefined); // the next write or finish gets the error
    const wait = before.catch(fail);
    wait.catch(() => undefined); // optional to await, because finish also fails
    return wait;
  };

  const fail = async (cause: unknown): Promise<never> => {
    await temp.drop();
    throw notWritten(path, cause);
  };

  const write = (line: object | string): Promise<void> | undefined => {
    const text = typeof line === "string" ? line : JSON.stringify(line);
    if (text.includes("\n")) throw new Error("a line of an artefact holds a newline");
    lines += 1;
    // UTF-8 needs at most three bytes for a UTF-16 unit.
    const room = text.length * 3 + 1;
    const size = room < LONGEST_LINE ? 0 : Buffer.byteLength(text) + 1;
    if (size > LONGEST_LINE) return disk.catch(fail).then(() => fail(tooLong(path, lines, size)));
    const flushed = room > block.length - length ? flush(room) : undefined;
    length += block.write(text, length);
    block[length++] = 0x0a;
    return flushed;
  };

  const { format, ...rest } = header;
  await write({ format, ...rest });
  return {
    /** Adds a line: an object or its JSON text. Await the promise, if any, to limit memory. */
    write,
    /** Adds the footer, and replaces the old file. @returns digest of the bytes before the footer */
    async finish(counts: object) {
      await flush();
      await disk.catch(fail);
      const sha256 = hash.digest("hex");
      await writeAll(Buffer.from(`${footerLine(counts, sha256)}\n`)).catch(fail);
      await temp.commit();
      return { sha256, lines };
    },
    /** Removes the new file and keeps the old one. A failed write has already done so. */
    async abandon(): Promise<void> {
      await disk.catch(() => undefined);
      await temp.drop();
    },
  };
}

function writerTo(handle: FileHandle): (data: Buffer) => Promise<void> {
  let unsynced = 0;
  return async (data) => {
    for (let at = 0; at < data.length; ) at += (await handle.write(data, at)).bytesWritten;
    unsynced += data.length;
    if (unsynced < SYNC_EVERY) return;
    unsynced = 0;
    await handle.datasync();
  };
}

function tooLong(path: string, line: number, size: number): MigrationError {
  const message = `cannot write ${path}: line ${line} has ${size} bytes, more than ${LONGEST_LINE}`;
  return new MigrationError("N2I-E120", message, {
    fix: "Check the row that this line was made from. If its data is invalid, skip the machine in the site document.",
  });
}
