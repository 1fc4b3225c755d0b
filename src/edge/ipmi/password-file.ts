import { rmSync } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MigrationError } from "../../model/error.ts";
import { atExit } from "../process/at-exit.ts";
import { sweep } from "./leftovers.ts";

/** The folders' names begin so; the process that made them is next. */
const PREFIX = "n2i-ipmi-";
let swept: Promise<void> | null = null;

/**
 * Gives `use` the path of a file with the password, and removes it as soon as `use` is done, or
 * calls `read` because it was read.
 *
 * The folder is our own (0700), the file new (O_EXCL) and ours alone (0600): ipmitool takes no pipe,
 * only a regular file with one name. An empty password is a NUL byte, as Ironic writes it: ipmitool
 * refuses an empty file. What a killed process left is removed first.
 *
 * @throws MigrationError N2I-E400 when it cannot be written
 */
export async function withPasswordFile<T>(
  password: string,
  use: (path: string, read: () => void) => Promise<T>,
): Promise<T> {
  swept ??= sweep(tmpdir(), PREFIX);
  await swept;
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`)).catch(refuse);
  const gone = atExit(() => rmSync(folder, { recursive: true, force: true }));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, "password");
    const file = await open(path, "wx", 0o600).catch(refuse);
    await file
      .writeFile(password === "" ? "\0" : password)
      .finally(() => file.close())
      .catch(refuse);
    // Failing here, it fails below again.
    return await use(path, () => void remove().catch(() => undefined));
  } finally {
    await remove();
    gone();
  }
}

function refuse(cause: unknown): never {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no code";
  throw new MigrationError("N2I-E400", `no password file can be written (${code})`, { cause });
}
