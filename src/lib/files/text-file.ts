import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { MigrationError, systemWords } from "../error.ts";
import type { RefusalCode } from "../refusals.ts";

/**
 * The bytes of a small regular file. A device, a pipe or a file that never ends is refused, not
 * waited for.
 *
 * @param limit bytes
 * @param about put before the message: which option named the file
 * @throws MigrationError `code` when the file is missing, unreadable, no regular file or too large
 */
export async function readSmallFile(
  path: string,
  limit: number,
  code: RefusalCode,
  about = "",
): Promise<Buffer> {
  const refuse = (why: string, cause?: unknown): MigrationError =>
    new MigrationError(code, `${about}cannot read ${path}: ${why}`, {
      cause,
      fix: "Check the path and that this user may read it.",
    });
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw refuse("it is not a regular file");
      const bytes = found.size > limit ? null : await file.readFile();
      // Files of /proc say size 0, so what was read is looked at too.
      if (bytes === null || bytes.length > limit)
        throw refuse(`it is larger than ${limit / 1024} KiB`);
      return bytes;
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw cause instanceof MigrationError ? cause : refuse(systemWords(cause), cause);
  }
}
