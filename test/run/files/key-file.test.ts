import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readKey, readOrMakeKey } from "../../../src/run/files/seal.ts";
import { refuses, tempRun } from "./temp-run.ts";

test("a run gets a key of 32 bytes, for its user alone, and has it ever after", async (t) => {
  const { path } = await tempRun(t);
  const key = await readOrMakeKey(path);
  assert.equal(key.length, 32);
  assert.equal((await stat(join(path, "secret.key"))).mode & 0o777, 0o600);
  assert.deepEqual(await readOrMakeKey(path), key);
  assert.deepEqual(await readKey(path), key);
  assert.deepEqual(await readdir(path), ["secret.key"]);
});

test("two runs have different keys, and a key file may lie elsewhere", async (t) => {
  const { path } = await tempRun(t);
  const file = join((await tempRun(t)).path, "elsewhere");
  const key = await readOrMakeKey(path, file);
  assert.notDeepEqual(await readOrMakeKey(path), key);
  assert.deepEqual(await readKey(path, file), key);
});

test("what opens secrets makes no key: a missing one is refused", async (t) => {
  const { path } = await tempRun(t);
  await assert.rejects(readKey(path), refuses("N2I-E115", "secret.key is missing"));
  assert.deepEqual(await readdir(path), []);
});

test("a key others may read is refused with the chmod that fixes it", async (t) => {
  const { path } = await tempRun(t);
  await readOrMakeKey(path);
  const file = join(path, "secret.key");
  for (const mode of [0o640, 0o604, 0o620, 0o644]) {
    await chmod(file, mode);
    await assert.rejects(readOrMakeKey(path), refuses("N2I-E115", `chmod 600 '${file}'`));
  }
  await chmod(file, 0o400);
  assert.equal((await readOrMakeKey(path)).length, 32);
});

test("a file that is no key is refused and left as it is", async (t) => {
  const { path } = await tempRun(t);
  const file = join(path, "secret.key");
  const hex = "ab".repeat(32);
  const others = ["", "secret\n", `${hex}\n`, `nova2ironic/key@2\n${hex}\n`, "x".repeat(9999)];
  for (const other of [...others, `nova2ironic/key@1\n${hex}`, `nova2ironic/key@1\n${hex}00\n`]) {
    await writeFile(file, other, { mode: 0o600 });
    await assert.rejects(readOrMakeKey(path), refuses("N2I-E115"));
    assert.equal(await readFile(file, "utf8"), other);
  }
});

test("a folder in the key's place is refused, and so is the null device", async (t) => {
  const { path } = await tempRun(t);
  await mkdir(join(path, "secret.key"));
  await assert.rejects(readOrMakeKey(path), refuses("N2I-E115", "not a regular file"));
  await assert.rejects(readKey(path, "/dev/null"), refuses("N2I-E115", "not a regular file"));
});
