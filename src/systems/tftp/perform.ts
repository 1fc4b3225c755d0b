import { createHash } from "node:crypto";
import { constants, rmSync } from "node:fs";
import {
  type FileHandle,
  link,
  mkdir,
  open,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
} from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { atExit } from "../../lib/files/at-exit.ts";
import type { BootStep, Thing } from "../../model/boot.ts";
import { inFolderOf, type OpenFolder, portions, tempOf, thingAt } from "./safe-fs.ts";

export type Source = { readonly text: string } | { readonly file: string };

export interface Owner {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Tests kill the process between the temporary and the final name. */
type Pause = (point: string) => Promise<void>;

/** The tree's owner, so that the TFTP server can read the files and Ironic can change them. */
export async function ownerIn(root: string): Promise<Pick<Owner, "uid" | "gid">> {
  const { uid, gid } = await stat(root);
  return { uid, gid };
}

function same(left: Thing | null, right: Thing | null): boolean {
  return left === null || right === null ? left === right : sameThing(left, right);
}

/**
 * A file gets its name only when it is complete, on disk, and has the planned digest.
 *
 * @throws MigrationError N2I-E300 if the name or its source has changed, N2I-E120
 */
export async function perform(
  root: string,
  { path, before, after }: BootStep,
  source: Source | null,
  owner: Owner,
  pause: Pause,
): Promise<void> {
  await inFolderOf(root, path, async (parent, name) => {
    if (!same(await thingAt(parent, name), before)) throw changed(root, path);
    try {
      await put(parent, name, { before, after }, { source, owner }, pause);
    } catch (cause) {
      if (systemCode(cause) === "EEXIST") throw changed(root, path);
      throw cause;
    }
    await parent.handle.sync();
  });
}

/** Folders and links have no source. */
interface Content {
  readonly source: Source | null;
  readonly owner: Owner;
}

async function put(
  parent: OpenFolder,
  name: string,
  { before, after }: Pick<BootStep, "before" | "after">,
  { source, owner }: Content,
  pause: Pause,
): Promise<void> {
  const at = join(parent.at, name);
  const temp = join(parent.at, tempOf(name));
  const cancelCleanup = atExit(() => rmSync(temp, { force: true }));
  try {
    switch (after.kind) {
      case "folder": {
        await mkdir(at, 0o755);
        const handle = await open(at, constants.O_DIRECTORY | constants.O_NOFOLLOW);
        await owned(handle, { ...owner, mode: 0o755 }).finally(() => handle.close());
        return;
      }
      case "link":
        if (before === null) return await symlink(after.target, at);
        await rm(temp, { force: true });
        await symlink(after.target, temp);
        await pause("boot.temp");
        return await rename(temp, at);
      case "file":
        if (source === null) throw new Error(`step ${at} has no source`);
        await rm(temp, { force: true });
        await write(temp, source, after.sha256, owner);
        await pause("boot.temp");
        // link() fails if the name was created in the meantime.
        await (before === null ? link(temp, at) : rename(temp, at));
    }
  } finally {
    await rm(temp, { force: true });
    cancelCleanup();
  }
}

async function write(path: string, source: Source, sha256: string, owner: Owner): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    const hash = createHash("sha256");
    const content = "text" in source ? [Buffer.from(source.text, "latin1")] : portions(source.file);
    for await (const portion of content) {
      hash.update(portion);
      await handle.writeFile(portion);
    }
    if (hash.digest("hex") !== sha256)
      throw new MigrationError("N2I-E300", "a file changed while it was copied");
    await owned(handle, owner);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Only root can change the owner. */
async function owned(handle: FileHandle, { mode, uid, gid }: Owner): Promise<void> {
  if (process.getuid?.() === 0) await handle.chown(uid, gid);
  await handle.chmod(mode);
}

/**
 * A changed name is skipped.
 *
 * @param text the content of a replaced file
 * @throws MigrationError N2I-E120
 */
export async function undoStep(
  root: string,
  { path, before, after }: BootStep,
  text: string | null,
  pause: Pause,
): Promise<"undone" | "gone" | { readonly conflict: string }> {
  try {
    return await inFolderOf(root, path, async (parent, name) => {
      const now = await thingAt(parent, name);
      if (same(now, before)) return "gone";
      if (now === null || !sameThing(now, after)) return { conflict: `${path} has changed since` };
      const made = await back(parent, name, { before, after }, text, pause);
      await parent.handle.sync();
      return made ? "undone" : { conflict: `${path} contains other files` };
    });
  } catch (cause) {
    const kind = cause instanceof MigrationError ? insteadOf(cause) : null;
    if (kind === null) throw cause;
    // Another user removed the folder, so the file is gone.
    return kind === "gone" && before === null ? "gone" : { conflict: `${path} has changed since` };
  }
}

/** The state that replaced the folder or name, or null for another error. */
function insteadOf({ code, cause }: MigrationError): "gone" | "other" | null {
  if (code === "N2I-E300") return "other";
  switch (systemCode(cause)) {
    case "ENOENT":
      return "gone";
    // The folder is now a file or a link.
    case "ENOTDIR":
    case "ELOOP":
      return "other";
    default:
      return null;
  }
}

async function back(
  parent: OpenFolder,
  name: string,
  { before, after }: Pick<BootStep, "before" | "after">,
  text: string | null,
  pause: Pause,
): Promise<boolean> {
  const at = join(parent.at, name);
  if (before !== null) {
    const owner = before.kind === "file" ? before.was : undefined;
    const content = {
      source: text === null ? null : { text },
      owner: owner ?? { mode: 0o644, uid: 0, gid: 0 },
    };
    await put(parent, name, { before: after, after: before }, content, pause);
    return true;
  }
  if (after.kind !== "folder") {
    await rm(at);
    return true;
  }
  try {
    await rmdir(at);
    return true;
  } catch (cause) {
    if (systemCode(cause) === "ENOTEMPTY") return false;
    throw cause;
  }
}

function changed(root: string, path: string): MigrationError {
  return new MigrationError("N2I-E300", `${join(root, path)} has changed since it was inspected`, {
    fix: "Run the same command again. It inspects the tree again and resumes.",
  });
}

function sameThing(skipped: Thing, right: Thing): boolean {
  if (skipped.kind === "link") return right.kind === "link" && skipped.target === right.target;
  if (skipped.kind === "file") return right.kind === "file" && skipped.sha256 === right.sha256;
  return right.kind === "folder";
}
