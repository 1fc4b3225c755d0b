import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openTrees, readText, sizeOf, treeOf } from "../../../src/systems/tftp/tree.ts";
import { privateFolder } from "../../hostile/deployment.ts";

test("a host's own tree goes before the one for all, and none is given twice", async (t) => {
  const at = privateFolder(t);
  const trees = await openTrees([at, `compute-1=${at}`], "--tftp-root");
  assert.equal(treeOf(trees, "compute-1")?.host, "compute-1");
  assert.equal(treeOf(trees, null)?.host, "*");
  await assert.rejects(openTrees([at, at], "--tftp-root"), { code: "N2I-E100" });
  await assert.rejects(openTrees([join(at, "none")], "--tftp-root"), { code: "N2I-E410" });
});

test("what is no small text file inside the tree is refused, not waited for", async (t) => {
  const [at, other] = [privateFolder(t), privateFolder(t)];
  writeFileSync(join(other, "config"), "default boot\n");
  writeFileSync(join(at, "fine"), "default boot\n");
  writeFileSync(join(at, "nul"), "default\0boot\n");
  mkdirSync(join(at, "folder"));
  symlinkSync("/dev/zero", join(at, "zero"));
  symlinkSync(other, join(at, "away"));
  symlinkSync("loop", join(at, "loop"));
  symlinkSync("fine", join(at, "inside"));
  assert.equal(spawnSync("mkfifo", [join(at, "pipe")]).status, 0);
  const [tree] = await openTrees([at], "--tftp-root");
  assert.ok(tree !== undefined);
  for (const name of ["nul", "folder", "zero", "away/config", "loop", "pipe"])
    assert.equal((await readText(tree, name)).kind, "refused", name);
  for (const name of ["none", "fine/config"])
    assert.equal((await readText(tree, name)).kind, "missing", name);
  for (const name of ["fine", "inside"])
    assert.deepEqual(await readText(tree, name), { kind: "text", text: "default boot\n" });
  assert.equal(await sizeOf(tree, "inside"), 13);
  assert.equal(await sizeOf(tree, "away/config"), null);
});
