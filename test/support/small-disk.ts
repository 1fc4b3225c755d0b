import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/**
 * A private file system of its own, gone when the test is. Only root may mount one.
 * @param options of tmpfs: `size=64k`, `nr_inodes=8`
 */
export function smallDisk(t: TestContext, options: string): string {
  const path = mkdtempSync(join(tmpdir(), "n2i disk-"));
  const words = ["-t", "tmpfs", "-o", `mode=0700,${options}`, "tmpfs", path];
  const mounted = spawnSync("mount", words, { encoding: "utf8" });
  // Hooks run in the order of their registration, and a mounted folder cannot be removed.
  t.after(() => {
    spawnSync("umount", [path]);
    rmdirSync(path);
  });
  if (mounted.status !== 0) throw new Error(`mount: ${mounted.stderr}`);
  return path;
}
