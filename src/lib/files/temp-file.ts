import { randomBytes } from "node:crypto";
import { closeSync, openSync, rmSync } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { atExit } from "./at-exit.ts";
import { notWritten, orNotWritten } from "./failure.ts";

export const TEMPORARY = ".n2i-tmp";

/** Unique temporary name for the file `final`. */
export function tempOf(final: string): string {
  return `${final}.${process.pid}-${randomBytes(4).toString("hex")}${TEMPORARY}`;
}

/**
 * A file with a temporary name until it is complete, so that no reader sees a partial file.
 * @throws MigrationError N2I-E120
 */
export async function createTemp(folder: string, name: string) {
  const final = join(folder, name);
  const path = tempOf(final);
  // Create the file and register its removal in one turn of the event loop, because a signal ends
  // the process between two turns.
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    throw notWritten(final, cause);
  }
  const cancelCleanup = atExit(() => rmSync(path, { force: true }));
  const handle = await open(path, "r+").catch((cause: unknown) => {
    rmSync(path, { force: true });
    cancelCleanup();
    throw notWritten(final, cause);
  });
  /** Removes it. A previous file with the final name stays unchanged. */
  const drop = async (): Promise<void> => {
    await handle.close().catch(() => undefined);
    await rm(path, { force: true }).catch(() => undefined);
    cancelCleanup();
  };
  /** Renames it to its final name. When this returns, the file survives a power failure. */
  const commit = async (): Promise<void> => {
    try {
      await handle.sync();
      await handle.close();
      await rename(path, final);
      cancelCleanup();
    } catch (cause) {
      await drop();
      throw notWritten(final, cause);
    }
    await syncFolder(folder);
  };
  return { path, handle, commit, drop };
}

/** Writes the whole text, or leaves the previous file. @throws MigrationError N2I-E120 */
export async function writeAtomic(folder: string, name: string, text: string): Promise<void> {
  const temp = await createTemp(folder, name);
  try {
    await temp.handle.writeFile(text);
  } catch (cause) {
    await temp.drop();
    throw notWritten(join(folder, name), cause);
  }
  await temp.commit();
}

/** Removes leftovers of killed stages. Requires the lock of the run. */
export async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder).catch(orNotWritten(folder));
  const old = names.filter((name) => name.endsWith(TEMPORARY)).map((name) => join(folder, name));
  const removed = old.map((path) => rm(path, { recursive: true, force: true }));
  await Promise.all(removed).catch(orNotWritten(folder));
}

/** Makes renames in a folder survive a power failure. @throws MigrationError N2I-E120 */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(orNotWritten(folder));
  const synced = handle.sync().finally(() => handle.close());
  await synced.catch(orNotWritten(folder));
}
