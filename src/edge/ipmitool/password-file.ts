import { lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withBriefFile } from "../process/brief-file.ts";

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
  const text = password === "" ? "\0" : password;
  const file = { prefix: `${PREFIX}${process.pid}-`, name: "password", mode: 0o600, text };
  return withBriefFile({ ...file, what: "password file" }, ({ path, remove }) =>
    // Failing here, it fails again at the end.
    use(path, () => void remove().catch(() => undefined)),
  );
}

/**
 * Removes folders that processes of this user left behind when they were killed. Their names are
 * `prefix`, the process's number and a dash, then anything. Where it cannot look, nothing happens.
 */
export async function sweep(parent: string, prefix: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    const pid = name.startsWith(prefix)
      ? /^(\d+)-/.exec(name.slice(prefix.length))?.[1]
      : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(parent, name);
    const found = await lstat(path).catch(() => null);
    if (found?.isDirectory() !== true || found.uid !== process.getuid?.()) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
