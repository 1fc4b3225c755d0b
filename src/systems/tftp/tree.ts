import { constants } from "node:fs";
import { lstat, open, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { hostSpec } from "../../lib/text.ts";

export interface Tree {
  /** bm_nodes.service_host, or "*" for hosts without their own tree. */
  readonly host: string;
  /** Absolute, without links. */
  readonly root: string;
}

type Content =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "missing" }
  | { readonly kind: "refused"; readonly why: string };

/** Bytes. A configuration has less than 1 KiB. */
const LARGEST = 64 * 1024;

/**
 * @param specs `[HOST=]DIR`; without a host, for all hosts without their own tree
 * @throws MigrationError N2I-E100 for two trees of a host, N2I-E410 if it is not a folder
 */
export async function openTrees(
  specs: readonly string[],
  option: string,
): Promise<readonly Tree[]> {
  const trees = await Promise.all(specs.map((spec) => openTree(spec, option)));
  const repeat = trees.find(({ host }, at) => trees.findIndex((other) => other.host === host) < at);
  if (repeat !== undefined)
    throw new MigrationError("N2I-E100", `${option} specifies ${repeat.host} more than once`);
  return trees;
}

async function openTree(spec: string, option: string): Promise<Tree> {
  const { host, path } = hostSpec(spec);
  try {
    const root = await realpath(path);
    if ((await stat(root)).isDirectory()) return { host, root };
  } catch (cause) {
    throw new MigrationError("N2I-E410", `${option} ${path}: ${codeOf(cause)}`, { cause });
  }
  throw new MigrationError("N2I-E410", `${option} ${path} is not a folder`);
}

export function treeOf(trees: readonly Tree[], host: string | null): Tree | null {
  return (
    trees.find((tree) => tree.host === host) ?? trees.find((tree) => tree.host === "*") ?? null
  );
}

/** Refuses links out of the tree, devices, pipes and large files. @param path without `..` */
export async function readText({ root }: Tree, path: string): Promise<Content> {
  try {
    const real = await realpath(join(root, path));
    if (!real.startsWith(`${root}/`)) return { kind: "refused", why: "points outside the tree" };
    const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
    const file = await open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    try {
      const found = await file.stat();
      if (!found.isFile()) return { kind: "refused", why: "is not a regular file" };
      if (found.size > LARGEST) return { kind: "refused", why: `has ${found.size} bytes` };
      const { buffer, bytesRead } = await file.read(Buffer.alloc(LARGEST + 1), 0, LARGEST + 1, 0);
      const text = buffer.toString("latin1", 0, bytesRead);
      return bytesRead > LARGEST || /[^\t\n\r\x20-\x7e]/.test(text)
        ? { kind: "refused", why: "is not plain text" }
        : { kind: "text", text };
    } finally {
      await file.close();
    }
  } catch (cause) {
    const code = codeOf(cause);
    return code === "ENOENT" || code === "ENOTDIR"
      ? { kind: "missing" }
      : { kind: "refused", why: `cannot be read (${code})` };
  }
}

/** Null unless it is a regular file in the tree. */
export async function sizeOf({ root }: Tree, path: string): Promise<number | null> {
  try {
    const real = await realpath(join(root, path));
    const found = await lstat(real);
    return real.startsWith(`${root}/`) && found.isFile() ? found.size : null;
  } catch {
    return null;
  }
}

export async function readLink({ root }: Tree, path: string): Promise<string | null> {
  return await readlink(join(root, path)).catch(() => null);
}

function codeOf(cause: unknown): string {
  return systemCode(cause) ?? "unknown failure";
}
