import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { atExit } from "../process/at-exit.ts";
import { notWritten } from "./failure.ts";
import { tempOf } from "./temp-file.ts";

/**
 * Works on an empty private file that is gone afterwards, with what a library puts beside it; after SIGKILL
 * whoever takes the run's lock next removes it.
 *
 * @throws MigrationError N2I-E120
 */
export async function withScratch<T>(
  folder: string,
  name: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const own = tempOf(join(folder, name));
  const path = join(own, name);
  const gone = atExit(() => rmSync(own, { recursive: true, force: true }));
  try {
    mkdirSync(own, { mode: 0o700 });
    writeFileSync(path, "", { mode: 0o600, flag: "wx" });
    return await work(path);
  } catch (cause) {
    throw notWritten(path, cause);
  } finally {
    rmSync(own, { recursive: true, force: true });
    gone();
  }
}
