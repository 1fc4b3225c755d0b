import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "./at-exit.ts";

/** A file in a folder of its own (0700), both gone when they are removed or the process ends. */
export interface BriefFile {
  readonly path: string;
  readonly remove: () => Promise<void>;
}

/**
 * Makes one among the temporary files. All of it in one turn of the loop: a signal ends the process
 * between two, and what the thread pool has begun by then is still written.
 */
export function briefFile(prefix: string, name: string, mode: number, text: string): BriefFile {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const gone = atExit(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, name);
  try {
    writeFileSync(path, text, { flag: "wx", mode });
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true });
    gone();
    throw cause;
  }
  return {
    path,
    async remove() {
      await rm(folder, { recursive: true, force: true });
      gone();
    },
  };
}
