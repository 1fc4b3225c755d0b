import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { refused, runs } from "../../hostile/cli.ts";
import { bootScene, nodeOf, treeDigest } from "../../support/boot.ts";
import { smallDisk } from "../../support/small-disk.ts";

test("a full disk stops staging with the file's name, and undo gives the tree back", async (t) => {
  const at = await bootScene(t, "juno", [1, 2], {});
  const disk = smallDisk(t, "size=64k");
  const before = treeDigest(disk);
  writeFileSync(join(at.old, nodeOf(2).replace(/^a/, "b"), "kernel"), Buffer.alloc(100_000, 1));
  const tree = ["--tftp-root", disk, "--served-as", "/tftpboot", "--from", at.old];
  const words = ["boot", "--run", at.run, ...tree, "--yes", "-q"];
  await refused(words, 5, "N2I-E301", [/after 1 machine.*kernel.*ENOSPC/]);
  assert.doesNotMatch(treeDigest(disk), /\.n2i-/);
  await runs(0, [...words, "--undo"]);
  assert.equal(treeDigest(disk), before);
  assert.equal(spawnSync("mount", ["-o", "remount,ro", disk]).status, 0);
  await refused(words, 5, "N2I-E301", [/EROFS/]);
  assert.equal(treeDigest(disk), before);
});
