import { spawnSync } from "node:child_process";
import {
  accessSync,
  chownSync,
  constants,
  mkdtempSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whom a server runs as; nothing when we are not root and it runs as us. */
export type Owner = { readonly uid: number; readonly gid: number } | Record<string, never>;

/** The first of these users the system has; the databases refuse to run as root. */
export function owner(...names: readonly string[]): Owner {
  if (process.getuid?.() !== 0) return {};
  for (const name of [...names, "nobody"]) {
    // The system's own answer: not every system keeps its users in /etc/passwd.
    const [uid, gid] = ["-u", "-g"].map((what) =>
      spawnSync("id", [what, name], { encoding: "utf8" }).stdout.trim(),
    );
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error("there is no unprivileged user to run a server as");
}

/** Where a server keeps its data: on the disk, every commit synced as in production, or in memory. */
export type Kept = "on disk" | "in memory";

/** Where Linux has a file system in memory, and what the data of a suite's servers may come to. */
const MEMORY = { path: "/dev/shm", bytes: 4 * 2 ** 30 };

/** A folder in memory that this user may write to, with room for a suite's data; null when there is none. */
export function inMemory(): string | null {
  try {
    accessSync(MEMORY.path, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY.path);
    return bavail * bsize >= MEMORY.bytes && runsPrograms(MEMORY.path) ? MEMORY.path : null;
  } catch {
    return null;
  }
}

/** Tests run scripts that they write. A container may mount the folder with noexec. */
function runsPrograms(path: string): boolean {
  const folder = mkdtempSync(join(path, "n2i-exec-"));
  const script = join(folder, "script");
  writeFileSync(script, "#!/bin/sh\n", { mode: 0o700 });
  const { status } = spawnSync(script);
  rmSync(folder, { recursive: true });
  return status === 0;
}

/** Folders that no server removes yet. */
const OURS = new Set<string>();
process.once("exit", () => {
  for (const folder of OURS) rmSync(folder, { recursive: true, force: true });
});

/** From now on the folder ends with a server, not with this process. */
export function entrust(folder: string): void {
  OURS.delete(folder);
}

/**
 * A new folder only its owner can enter, in memory only where there is room. Short, because a
 * socket's path has 107 characters at most. It is gone when this process ends by itself.
 */
export function privateFolder(prefix: string, { uid, gid }: Owner, kept: Kept = "on disk"): string {
  const disk = uid === undefined ? tmpdir() : "/tmp";
  const folder = mkdtempSync(join((kept === "in memory" ? inMemory() : null) ?? disk, prefix));
  OURS.add(folder);
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** Writes a file, mode 0600, that its owner can read: how a password reaches a server. */
export function privateFile(path: string, text: string, { uid, gid }: Owner): void {
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}
