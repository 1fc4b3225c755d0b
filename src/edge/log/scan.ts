import { createInterface } from "node:readline";
import { openLog } from "./open.ts";

interface LogLine {
  /** From 1, as editors count. */
  readonly line: number;
  readonly text: string;
}

/** @throws MigrationError N2I-E105 when the log is no regular file, or may not be read */
export async function checkLog(path: string): Promise<void> {
  await (await openLog(path, "read")).close();
}

/**
 * The lines of a log, however large it is.
 *
 * @param from first line that is given
 * @throws MigrationError N2I-E105 when it is no regular file, or may not be read
 */
export async function* linesOf(path: string, from = 1): AsyncGenerator<LogLine> {
  const handle = await openLog(path, "read");
  try {
    const lines = createInterface({
      input: handle.createReadStream({ autoClose: false }),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    let line = 0;
    for await (const text of lines) {
      line += 1;
      if (line >= from) yield { line, text };
    }
  } finally {
    await handle.close();
  }
}
