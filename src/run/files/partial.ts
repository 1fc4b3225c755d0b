import { constants, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../lib/error.ts";
import { notRead, notWritten, orNotWritten } from "../../lib/files/failure.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseObject } from "./artefact-form.ts";
import type { RunFolder } from "./run-folder.ts";

/**
 * Results of an interrupted stage, kept until its artefact is complete.
 * Drops lines for another `about`, such as another snapshot.
 * @throws MigrationError N2I-E120
 */
export async function openPartial<Line>(run: RunFolder, name: string, about: string) {
  const path = join(run.path, `${name}.partial`);
  // The first line was compared, instead of each field.
  const saved = (await read(path, about)) as readonly unknown[] as readonly Line[];
  try {
    const { O_CREAT, O_WRONLY, O_APPEND, O_TRUNC } = constants;
    const fresh = saved.length === 0 ? O_TRUNC : 0;
    const file = await open(path, O_CREAT | O_WRONLY | O_APPEND | fresh, 0o600);
    if (saved.length === 0) await file.appendFile(`${JSON.stringify({ about })}\n`);
    const fail = orNotWritten(path);
    return {
      /** Results of an earlier run with the same input. */
      saved,
      /** Adds a line. A crash loses at most the last second, which is then repeated. */
      add: (line: object) => file.appendFile(`${JSON.stringify(line)}\n`).catch(fail),
      /** Makes added lines survive a power failure. */
      sync: () => file.datasync().catch(fail),
      close: () => file.close().catch(fail),
      /** Removes the file when the artefact is complete. */
      remove: () => rm(path, { force: true }).catch(fail),
    };
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

/** An incomplete last line is ignored, and its work is repeated. */
async function read(path: string, about: string): Promise<readonly JsonObject[]> {
  try {
    const [first = "", ...rest] = (await readFile(path, "utf8")).split("\n");
    if (parseObject(first)?.about !== about) return [];
    return rest.map(parseObject).filter((line) => line !== null);
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return [];
    throw notRead(path, cause);
  }
}
