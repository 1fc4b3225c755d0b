import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  renameSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { checkLog, follow } from "../../../src/systems/logs/scan.ts";
import { privateFolder } from "../../hostile/deployment.ts";

test("a log is followed from its end, by whole lines", async (t) => {
  const { path, log } = await begun(t, "old\n");
  assert.deepEqual(await log.read(), []);
  appendFileSync(path, "one\ntw");
  assert.deepEqual(await log.read(), ["one"]);
  appendFileSync(path, "o\n");
  assert.deepEqual(await log.read(), ["two"]);
});

test("a rotated log is read to its end, the new one from its beginning", async (t) => {
  const { path, log } = await begun(t, "old\n");
  appendFileSync(path, "last\n");
  renameSync(path, `${path}.1`);
  assert.deepEqual(await log.read(), ["last"]);
  writeFileSync(path, "");
  assert.deepEqual(await log.read(), []);
  appendFileSync(path, "new\n");
  assert.deepEqual(await log.read(), ["new"]);
});

test("a log that was emptied is read from its beginning", async (t) => {
  const { path, log } = await begun(t, "2026-01-01 a long line of old\n");
  truncateSync(path);
  assert.deepEqual(await log.read(), []);
  appendFileSync(path, "2026-01-02 new\n");
  assert.deepEqual(await log.read(), ["2026-01-02 new"]);
  appendFileSync(path, "2026-01-02 newer\n");
  assert.deepEqual(await log.read(), ["2026-01-02 newer"]);
});

test("a copy that is renewed, or written over, goes on where it was", async (t) => {
  const { path, log } = await begun(t, "old\n");
  writeFileSync(`${path}.new`, "old\none\n");
  renameSync(`${path}.new`, path);
  assert.deepEqual(await log.read(), ["one"]);
  writeFileSync(path, "ol");
  assert.deepEqual(await log.read(), []);
  writeFileSync(path, "old\none\ntwo\n");
  assert.deepEqual(await log.read(), ["two"]);
});

test("of a huge log the end is read, in little memory", async (t) => {
  const { path, log } = await begun(t, "old\n");
  truncateSync(path, 5 * 1024 ** 3);
  appendFileSync(path, "\nlast\n");
  assert.deepEqual(await log.read(), ["last"]);
});

test("a log that is gone for a while ends nothing", async (t) => {
  const { path, log } = await begun(t, "old\n");
  copyFileSync(path, `${path}.kept`);
  unlinkSync(path);
  assert.deepEqual(await log.read(), []);
  renameSync(`${path}.kept`, path);
  appendFileSync(path, "one\n");
  assert.deepEqual(await log.read(), ["one"]);
});

test("what is no log, or not ours to read, is refused before anything is released", async (t) => {
  const { path } = await begun(t, "");
  spawnSync("mkfifo", [`${path}.pipe`]);
  for (const [place, says] of [
    [`${path}.none`, /ENOENT/],
    [join(path, ".."), /not a regular file/],
    [`${path}.pipe`, /not a regular file/],
  ] as const)
    await assert.rejects(follow(place), { code: "N2I-E105", message: says });
});

test("a log that opens and cannot be looked at is refused, and not left open", async (t) => {
  const { path } = await begun(t, "old\n");
  const handle = await open(path);
  t.after(() => handle.close());
  const stale = Object.assign(new Error("stale"), { code: "ESTALE" });
  const opened: FileHandle[] = [];
  t.mock.method(Object.getPrototypeOf(handle), "stat", function (this: FileHandle) {
    opened.push(this);
    return Promise.reject(stale);
  });
  const refused = (message: string) => ({ name: "MigrationError", code: "N2I-E105", message });
  await assert.rejects(follow(path), refused(`cannot follow ${path}: ESTALE`));
  await assert.rejects(checkLog(path), refused(`cannot read ${path}: ESTALE`));
  // A closed handle has no descriptor.
  const descriptors = opened.map(({ fd }) => fd);
  assert.deepEqual(descriptors, [-1, -1]);
});

async function begun(t: TestContext, content: string) {
  const folder = privateFolder(t);
  const path = join(folder, "conductor.log");
  writeFileSync(path, content);
  const log = await follow(path);
  t.after(log.close);
  return { path, log };
}
