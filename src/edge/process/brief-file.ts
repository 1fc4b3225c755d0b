import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../model/error.ts";
import { atExit } from "./at-exit.ts";

/** A file in a folder of its own (0700), both gone when they are removed or the process ends. */
interface BriefFile {
  readonly path: string;
  readonly remove: () => Promise<void>;
}

/** What is made, and what for. */
interface Wanted {
  /** The folder's name begins so. */
  readonly prefix: string;
  readonly name: string;
  readonly mode: number;
  readonly text: string;
  /** `password file`, for the message. */
  readonly what: string;
}

/**
 * Gives `use` one among the temporary files, gone when `use` is done.
 *
 * @throws MigrationError N2I-E400 when it cannot be written
 */
export async function withBriefFile<T>(
  wanted: Wanted,
  use: (file: BriefFile) => Promise<T>,
): Promise<T> {
  const file = made(wanted);
  try {
    return await use(file);
  } finally {
    await file.remove();
  }
}

/**
 * All of it in one turn of the loop: a signal ends the process between two, and what the thread pool
 * has begun by then is still written.
 */
function made({ prefix, name, mode, text, what }: Wanted): BriefFile {
  let folder: string | undefined;
  let gone = (): void => undefined;
  try {
    const own = mkdtempSync(join(tmpdir(), prefix));
    folder = own;
    gone = atExit(() => rmSync(own, { recursive: true, force: true }));
    const path = join(own, name);
    writeFileSync(path, text, { flag: "wx", mode });
    return {
      path,
      async remove() {
        await rm(own, { recursive: true, force: true });
        gone();
      },
    };
  } catch (cause) {
    try {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      gone();
    } catch {
      // It is tried again when the process ends.
    }
    const why = `no ${what} can be written (${systemCode(cause) ?? "no code"})`;
    throw new MigrationError("N2I-E400", why, { cause });
  }
}
