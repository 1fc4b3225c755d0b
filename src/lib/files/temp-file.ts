import { randomBytes } from "node:crypto";
import { closeSync, openSync, rmSync } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { atExit } from "./at-exit.ts";
import { notWritten } from "./failure.ts";

/** A file under a name of its own until it is whole, so that no reader ever sees half of it. */
interface TempFile {
  readonly path: string;
  readonly handle: FileHandle;
  /** Gives the file its name, for good: when this returns, a power cut keeps it. */
  readonly commit: () => Promise<void>;
  /** Removes it; what had the name before stands untouched. */
  readonly drop: () => Promise<void>;
}

/** Ends the names of what is not whole yet. */
export const TEMPORARY = ".n2i-tmp";

/** A name of its own for what gets the name `final` once it is whole. */
export function tempOf(final: string): string {
  return `${final}.${process.pid}-${randomBytes(4).toString("hex")}${TEMPORARY}`;
}

/** @throws MigrationError N2I-E120 */
export async function createTemp(folder: string, name: string): Promise<TempFile> {
  const final = join(folder, name);
  const path = tempOf(final);
  // Made and meant to go in one turn of the loop: a signal ends the process between two.
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    throw notWritten(final, cause);
  }
  const gone = atExit(() => rmSync(path, { force: true }));
  const handle = await open(path, "r+").catch((cause: unknown) => {
    rmSync(path, { force: true });
    gone();
    throw notWritten(final, cause);
  });
  const drop = async (): Promise<void> => {
    await handle.close().catch(() => undefined);
    await rm(path, { force: true }).catch(() => undefined);
    gone();
  };
  const commit = async (): Promise<void> => {
    try {
      await handle.sync();
      await handle.close();
      await rename(path, final);
      gone();
    } catch (cause) {
      await drop();
      throw notWritten(final, cause);
    }
    await syncFolder(folder);
  };
  return { path, handle, commit, drop };
}

/** Makes a file of a text, or leaves what was there. @throws MigrationError N2I-E120 */
export async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  const temp = await createTemp(folder, name);
  try {
    await temp.handle.writeFile(text);
  } catch (cause) {
    await temp.drop();
    throw notWritten(join(folder, name), cause);
  }
  await temp.commit();
}

/** Removes what stages that were killed left behind. Only the holder of the run's lock may. */
export async function removeLeftovers(folder: string): Promise<readonly string[]> {
  try {
    const left = (await readdir(folder)).filter((name) => name.endsWith(TEMPORARY));
    await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true })));
    return left;
  } catch (cause) {
    throw notWritten(folder, cause);
  }
}

/** Makes names given or removed in a folder outlive a power cut. @throws MigrationError N2I-E120 */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch (cause) {
    throw notWritten(folder, cause);
  }
}
