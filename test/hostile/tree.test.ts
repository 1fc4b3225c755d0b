import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  type BootScene,
  bootScene,
  ironicConfig,
  linkPath,
  nodeOf,
  takenOver,
} from "../support/boot.ts";

const ESCAPE = "\u001b]0;owned\u0007\u001b[2J";

function fifo(path: string): void {
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
}

function sparse(path: string, bytes: number): void {
  closeSync(openSync(path, "w"));
  truncateSync(path, bytes);
}

function written(text: string, encoding: BufferEncoding = "utf8") {
  return (path: string): void => writeFileSync(path, text, encoding);
}

/** What a machine's boot file may have become, and what staging says of it. */
const CONFIGS: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ["a pipe", fifo, /no file, link or folder/],
  ["a folder", (path) => mkdirSync(path), /config is a folder/],
  ["a link to itself", (path) => symlinkSync("config", path), /config is a link to config/],
  ["a link out of the tree", (path) => symlinkSync("/etc/shadow", path), /a link to \/etc\/shadow/],
  ["a link with an escape", (path) => symlinkSync(`/x${ESCAPE}`, path), /a link to \/x/],
  ["1 GB of nothing", (path) => sparse(path, 2 ** 30), /not plain text/],
  ["UTF-16", written(ironicConfig(1, "boot"), "utf16le"), /not plain text/],
  ["Latin-1", written(`# caf\u00e9\n${ironicConfig(1, "boot")}`, "latin1"), /not plain text/],
  ["escapes", written(ironicConfig(1, "boot").replace("text", ESCAPE)), /not plain text/],
  ["a million labels", written("label x\n".repeat(1_000_000)), /not plain text/],
];

/** Told on lines of their own, and nothing of it is for the terminal. */
async function said(at: BootScene, status: number, ...options: readonly string[]): Promise<string> {
  const { out, err } = await at.boot(status, ...options);
  for (const sign of ["\u001b", "\u0007", "node:internal"]) assert.ok(!(out + err).includes(sign));
  return out;
}

test("staging leaves whatever a boot file has become, names it, and stages the machines beside it", async (t) => {
  const ids = CONFIGS.map((_, at) => at + 1);
  const healthy = ids.length + 1;
  const at = await bootScene(t, "juno", [...ids, healthy], {});
  for (const [n, [, make]] of CONFIGS.entries()) {
    mkdirSync(join(at.tree, nodeOf(n + 1)));
    make(join(at.tree, nodeOf(n + 1), "config"));
  }
  for (let n = 0; n < 2000; n += 1) writeFileSync(join(at.tree, `x\n${ESCAPE}${n}`), "");
  const before = at.digest();
  for (const [status, form] of [
    [0, "--plan"],
    [3, "--yes"],
  ] as const) {
    const lines = (await said(at, status, form, "-f", "value")).split("\n");
    for (const [n, [what, , why]] of CONFIGS.entries())
      assert.match(lines.find((line) => line.startsWith(nodeOf(n + 1))) ?? "", why, what);
    assert.match(lines.find((line) => line.startsWith(nodeOf(healthy))) ?? "", / (to )?stage/);
  }
  await said(at, 2, "--verify");
  await said(at, 0, "--undo", "--yes");
  assert.equal(at.digest(), before);
});

/** What hands may have made of what was staged for a machine. */
const DEEDS: readonly ((folder: string) => void)[] = [
  (folder) => {
    rmSync(join(folder, "config"));
    fifo(join(folder, "config"));
  },
  (folder) => {
    rmSync(join(folder, "kernel"));
    mkdirSync(join(folder, "kernel"));
  },
  (folder) => {
    renameSync(folder, `${folder}.away`);
    symlinkSync(`${folder}.away`, folder);
  },
  (folder) => {
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "somebody's\n");
  },
  (folder) => {
    rmSync(join(folder, "ramdisk"));
    symlinkSync("ramdisk", join(folder, "ramdisk"));
  },
  (folder) => rmSync(folder, { recursive: true }),
];

test("undo leaves what is of another kind by now, names it, and takes back the machines beside it", async (t) => {
  const healthy = DEEDS.length + 1;
  const ids = [...DEEDS.map((_, at) => at + 1), healthy];
  // Ironic's own boot file was there before, and is switched.
  const theirs = [1, 3, 4, 6].map((id) => takenOver(id));
  const at = await bootScene(t, "juno", ids, Object.assign({}, ...theirs));
  await at.boot(0, "--yes");
  for (const [n, deed] of DEEDS.entries()) deed(join(at.tree, nodeOf(n + 1)));
  const told = await said(at, 2, "--undo", "--yes", "-f", "value");
  const lines = told.split("\n");
  for (const [n] of DEEDS.entries())
    assert.match(lines.find((line) => line.startsWith(nodeOf(n + 1))) ?? "", / left /, told);
  assert.match(lines.find((line) => line.startsWith(nodeOf(healthy))) ?? "", / undone /, told);
  assert.equal(readFileSync(join(at.tree, nodeOf(4)), "utf8"), "somebody's\n");
  // Put right, the same command takes the rest back.
  rmSync(join(at.tree, nodeOf(3)));
  renameSync(join(at.tree, `${nodeOf(3)}.away`), join(at.tree, nodeOf(3)));
  const again = await said(at, 2, "--undo", "--yes", "-f", "value");
  assert.match(again, new RegExp(`^${nodeOf(3)} undone`, "m"));
});

test("a folder of links that became a link stops nothing else from being taken back", async (t) => {
  const at = await bootScene(t, "juno", [1], {});
  await at.boot(0, "--yes");
  renameSync(join(at.tree, "pxelinux.cfg"), join(at.tree, "elsewhere"));
  symlinkSync("elsewhere", join(at.tree, "pxelinux.cfg"));
  const told = await said(at, 2, "--undo", "--yes", "-f", "value");
  assert.match(told, new RegExp(`${nodeOf(1)} left .*pxelinux.cfg`));
  rmSync(join(at.tree, "pxelinux.cfg"));
  renameSync(join(at.tree, "elsewhere"), join(at.tree, "pxelinux.cfg"));
  await at.boot(0, "--undo", "--yes");
  assert.throws(() => readFileSync(join(at.tree, linkPath(1))), /ENOENT/);
});

test("a kernel that is a pipe, a link out of the old tree, or endless is not copied", async (t) => {
  const at = await bootScene(t, "juno", [1, 2, 3, 4], {});
  const kernel = (id: number) => join(at.old, nodeOf(id).replace(/^a/, "b"), "kernel");
  for (const id of [1, 2, 3]) rmSync(kernel(id));
  fifo(kernel(1));
  symlinkSync("/etc/passwd", kernel(2));
  symlinkSync("/dev/zero", kernel(3));
  const told = await said(at, 3, "--yes", "-f", "value");
  assert.equal(
    told.match(/ left .*kernel does not exist, and no old tree has the tenant's/g)?.length,
    3,
  );
  assert.match(told, new RegExp(`^${nodeOf(4)} staged`, "m"));
});
