import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { MigrationError, systemText } from "../error.ts";
import type { RefusalCode } from "../refusals.ts";

/**
 * Content of a small regular file. Refuses a device or a pipe instead of waiting for it.
 * @param limit bytes
 * @param about prefix of the message, such as the option that named the file
 * @throws MigrationError `code` if the file is missing, unreadable, not regular or too large
 */
export async function readSmallFile(
  path: string,
  limit: number,
  code: RefusalCode,
  about = "",
): Promise<Buffer> {
  const refuse = (reason: string, cause?: unknown): MigrationError =>
    new MigrationError(code, `${about}cannot read ${path}: ${reason}`, {
      cause,
      fix: "Check the path and that this user may read it.",
    });
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw refuse("it is not a regular file");
      const bytes = found.size > limit ? null : await file.readFile();
      // Files in /proc report size 0, so the content is also checked.
      if (bytes === null || bytes.length > limit)
        throw refuse(`it is larger than ${limit / 1024} KiB`);
      return bytes;
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw cause instanceof MigrationError ? cause : refuse(systemText(cause), cause);
  }
}
