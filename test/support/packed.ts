import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/run/files/package-root.ts";

/** Packs the package as built, and unpacks it to `home`, which is below `folder`. */
export function unpack(folder: string, home: string): void {
  // Already built: the tests are part of that build.
  const packed = spawnSync(
    "npm",
    ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder],
    { cwd: packageRoot(), encoding: "utf8" },
  );
  assert.equal(packed.status, 0, packed.stderr);
  const name = readdirSync(folder).find((file) => file.endsWith(".tgz")) ?? "";
  assert.equal(spawnSync("tar", ["xzf", name], { cwd: folder }).status, 0);
  cpSync(join(folder, "package"), home, { recursive: true });
}
