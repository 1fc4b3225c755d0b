import { constants, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../lib/error.ts";
import { notRead, notWritten } from "../../lib/files/failure.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseObject } from "./artefact-form.ts";
import type { RunFolder } from "./run-folder.ts";

/** Lines of a stage that was stopped, kept until the stage can write its artefact whole. */
interface Partial<Line> {
  /** What an earlier run of the stage left, when it was for the same thing. */
  readonly kept: readonly Line[];
  /** Adds a line; a crash loses at most the lines of the last second, and those are asked again. */
  readonly add: (line: object) => Promise<void>;
  /** Makes what was added last a power cut. */
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** The artefact is whole: the partial file goes. */
  readonly remove: () => Promise<void>;
}

/**
 * Opens `NAME.partial` of a run. Lines left for another `about` (another snapshot) are dropped: they
 * answer a question nobody asks any more.
 *
 * @throws MigrationError N2I-E120
 */
export async function openPartial<Line>(
  run: RunFolder,
  name: string,
  about: string,
): Promise<Partial<Line>> {
  const path = join(run.path, `${name}.partial`);
  // Its first line was compared; it stands for a check of each field.
  const kept = (await read(path, about)) as readonly unknown[] as readonly Line[];
  try {
    const { O_CREAT, O_WRONLY, O_APPEND, O_TRUNC } = constants;
    const fresh = kept.length === 0 ? O_TRUNC : 0;
    const file = await open(path, O_CREAT | O_WRONLY | O_APPEND | fresh, 0o600);
    if (kept.length === 0) await file.appendFile(`${JSON.stringify({ about })}\n`);
    const guarded = async (work: () => Promise<unknown>): Promise<void> => {
      try {
        await work();
      } catch (cause) {
        throw notWritten(path, cause);
      }
    };
    return {
      kept,
      add: (line) => guarded(() => file.appendFile(`${JSON.stringify(line)}\n`)),
      sync: () => guarded(() => file.datasync()),
      close: () => guarded(() => file.close()),
      remove: () => guarded(() => rm(path, { force: true })),
    };
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

/** A torn last line is the one a crash cut; it is asked again. */
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
