import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/**
 * A private file system of its own, gone when the test is. Null, with the test skipped, where this
 * user may not mount one.
 *
 * @param options of tmpfs: `size=64k`, `nr_inodes=8`
 */
export function smallDisk(t: TestContext, options: string): string | null {
  const path = mkdtempSync(join(tmpdir(), "n2i disk-"));
  const words = ["-t", "tmpfs", "-o", `mode=0700,${options}`, "tmpfs", path];
  const mounted = spawnSync("mount", words).status === 0;
  t.after(() => {
    if (mounted) spawnSync("umount", [path]);
    rmdirSync(path);
  });
  if (mounted) return path;
  t.skip("this user may not mount a file system");
  return null;
}
