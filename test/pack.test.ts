import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { packageRoot } from "../src/demo/package-root.ts";

test("the packed package runs the demo outside the clone", () => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-pack-"));
  try {
    // Built already: the test itself is part of that build.
    const packed = spawnSync(
      "npm",
      ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder],
      { cwd: packageRoot(), encoding: "utf8" },
    );
    assert.equal(packed.status, 0, packed.stderr);
    const name = readdirSync(folder).find((file) => file.endsWith(".tgz")) ?? "";
    const untarred = spawnSync("tar", ["xzf", name], { cwd: folder });
    assert.equal(untarred.status, 0);
    const home = join(folder, "elsewhere");
    cpSync(join(folder, "package"), home, { recursive: true });
    symlinkSync(join(packageRoot(), "node_modules"), join(home, "node_modules"));
    const demo = spawnSync(process.execPath, [join(home, ".build/bundle/nova2ironic.js"), "demo"], {
      cwd: folder,
      encoding: "utf8",
    });
    assert.equal(demo.status, 0, demo.stdout + demo.stderr);
    assert.match(demo.stdout, /yes {2}after rollback Ironic is what it was, by digest/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
