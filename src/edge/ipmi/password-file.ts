import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MigrationError } from "../../model/error.ts";

/**
 * Gives `use` the path of a file with the password, and removes it as soon as `use` is done.
 *
 * The folder is our own (0700), the file new (O_EXCL) and ours alone (0600). An empty password is a
 * NUL byte, as Ironic writes it: ipmitool refuses an empty file.
 *
 * @throws MigrationError N2I-E400 when it cannot be written
 */
export async function withPasswordFile<T>(
  password: string,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "n2i-ipmi-")).catch(refuse);
  try {
    const path = join(folder, "password");
    const file = await open(path, "wx", 0o600).catch(refuse);
    await file
      .writeFile(password === "" ? "\0" : password)
      .finally(() => file.close())
      .catch(refuse);
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function refuse(cause: unknown): never {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no code";
  throw new MigrationError("N2I-E400", `no password file can be written (${code})`, { cause });
}
