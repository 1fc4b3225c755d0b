import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

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
