import { statfs } from "node:fs/promises";
import { MigrationError } from "../../model/error.ts";
import { systemCode } from "./failure.ts";

/**
 * Bytes a user without privileges may still write there.
 *
 * @throws MigrationError N2I-E120
 */
export async function freeSpace(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (cause) {
    const why = systemCode(cause) ?? "unknown";
    throw new MigrationError("N2I-E120", `the room in ${path} cannot be told (${why})`, { cause });
  }
}
