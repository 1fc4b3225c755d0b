import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, open, readlink, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { notWritten } from "../../lib/files/failure.ts";
import type { Found, Thing } from "../../model/boot.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Without /proc, a link can replace a folder between its opening and a step inside it. */
const PROC = existsSync("/proc/self/fd");

/** An open folder. Renames of the path do not affect steps inside it. */
export interface OpenFolder {
  /** `/proc/self/fd/N`, or the folder's name without /proc. */
  readonly at: string;
  readonly handle: FileHandle;
}

/** The folder of `path` is the root or a real folder in it. @throws MigrationError N2I-E120 */
export async function inFolderOf<T>(
  root: string,
  path: string,
  work: (parent: OpenFolder, name: string) => Promise<T>,
): Promise<T> {
  const handles: FileHandle[] = [];
  const openAt = async (folder: string): Promise<OpenFolder> => {
    const handle = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    handles.push(handle);
    return { at: PROC ? `/proc/self/fd/${handle.fd}` : folder, handle };
  };
  try {
    const top = await openAt(root);
    const folder = dirname(path);
    const parent = folder === "." ? top : await openAt(join(top.at, folder));
    return await work(parent, path.slice(folder === "." ? 0 : folder.length + 1));
  } catch (cause) {
    throw notWritten(join(root, path), cause);
  } finally {
    for (const handle of handles.reverse()) await handle.close();
  }
}

/** Follows no links and does not block. */
export async function inspect(root: string, path: string): Promise<Found> {
  try {
    const at = join(root, path);
    const found = await lstat(at);
    if (found.isSymbolicLink()) return { kind: "link", target: await readlink(at) };
    if (found.isDirectory()) return { kind: "folder" };
    const { size: bytes, mode, uid, gid } = found;
    return found.isFile()
      ? { kind: "file", bytes, mode: mode & 0o7777, uid, gid }
      : { kind: "other", reason: "no file, link or folder" };
  } catch (cause) {
    const code = systemCode(cause);
    return code === "ENOENT"
      ? { kind: "absent" }
      : { kind: "other", reason: `out of reach (${code ?? "unknown failure"})` };
  }
}

export async function thingAt({ at }: OpenFolder, name: string): Promise<Thing | null> {
  const found = await inspect(at, name);
  switch (found.kind) {
    case "absent":
      return null;
    case "folder":
      return { kind: "folder" };
    case "link":
      return found;
    case "file":
      return { kind: "file", sha256: await digestOf(join(at, name)) };
    case "other":
      throw new MigrationError("N2I-E300", `${name} is ${found.reason}`);
  }
}

export async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const portion of portions(path)) hash.update(portion);
  return hash.digest("hex");
}

const PORTION = 1024 * 1024;

/** Reads a regular file in chunks. */
export async function* portions(path: string): AsyncGenerator<Buffer> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  yield* file.createReadStream({ highWaterMark: PORTION });
}

/** A constant temporary name, so that the next run can remove it. */
export function tempOf(name: string): string {
  return `.n2i-${createHash("sha256").update(name).digest("hex").slice(0, 12)}.tmp`;
}

/** Removes the temporary file of a crash. */
export async function sweep(root: string, path: string): Promise<void> {
  const parent = await inspect(root, dirname(path));
  if (parent.kind !== "folder") return;
  await inFolderOf(root, path, async ({ at }, name) => {
    await rm(join(at, tempOf(name)), { force: true });
  });
}
