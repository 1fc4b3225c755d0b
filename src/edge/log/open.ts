import { constants, type FileHandle, open } from "node:fs/promises";
import { MigrationError, systemCode } from "../../model/error.ts";

/**
 * A log as it is now; nothing is waited for.
 *
 * @param to what it is opened for, for the message
 * @throws MigrationError N2I-E105 when it is no regular file, or may not be read
 */
export async function openLog(path: string, to: "read" | "follow"): Promise<FileHandle> {
  const refuse = (why: string, cause?: unknown): MigrationError =>
    new MigrationError("N2I-E105", `cannot ${to} ${path}: ${why}`, { cause });
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (cause: unknown) => {
      throw refuse(systemCode(cause) ?? "unknown failure", cause);
    },
  );
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw refuse("it is not a regular file");
}
