import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chown, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createArtefact } from "../../../src/run/files/artefact-writer.ts";
import { openJournal } from "../../../src/run/files/journal.ts";
import { lockRun, openRun } from "../../../src/run/files/run-folder.ts";
import { readOrMakeKey } from "../../../src/run/files/seal.ts";
import { mountedRun, refuses, tempRun, writePlan } from "./temp-run.ts";

const HEADER = { format: "nova2ironic/machines@1" };
const OPEN = { do: "open", format: "nova2ironic/journal@2", tool: "0.1" } as const;

test("a full disk is refused by the file's name; the old file stands, no rest is left", async (t) => {
  const run = await mountedRun(t, "size=64k");
  const path = await writePlan(run, [{ id: 1 }]);
  const old = await readFile(path);
  const fill = async (lines: number): Promise<void> => {
    const writer = await createArtefact(run, "machines.jsonl", HEADER);
    for (let id = 0; id < lines; id++) await writer.write({ id, text: "x".repeat(1000) });
    await writer.finish({});
  };
  for (const lines of [100, 3000]) {
    await assert.rejects(fill(lines), refuses("N2I-E120", `cannot write ${path}: no space left`));
    assert.deepEqual(await readFile(path), old);
    assert.deepEqual(await readdir(run.path), ["machines.jsonl"]);
  }
  await fill(10);
});

test("a disk that became read-only is refused; the old file stands", async (t) => {
  const run = await mountedRun(t, "size=1m");
  const path = await writePlan(run, [{ id: 1 }]);
  const old = await readFile(path);
  assert.equal(spawnSync("mount", ["-o", "remount,ro", run.path]).status, 0);
  const told = refuses("N2I-E120", "read-only file system (EROFS)");
  await assert.rejects(createArtefact(run, "machines.jsonl", HEADER), told);
  await assert.rejects(lockRun(run, "plan"), told);
  await assert.rejects(openJournal(run), told);
  assert.deepEqual(await readFile(path), old);
});

test("a run folder that is gone is refused", async (t) => {
  const run = await tempRun(t);
  const writer = await createArtefact(run, "machines.jsonl", HEADER);
  await rm(run.path, { recursive: true });
  await assert.rejects(writer.finish({}), refuses("N2I-E120", "machines.jsonl"));
});

test("a journal on a full disk refuses this entry and all after it; the next run goes on", async (t) => {
  const run = await mountedRun(t, "size=64k");
  const journal = await openJournal(run);
  const entry = {
    do: "begin",
    part: "ironic",
    plan: "p".repeat(900),
    from: 0,
    to: 1,
    at: "now",
    by: "me",
  } as const;
  let kept = 1;
  await journal.append(OPEN);
  const fill = async (): Promise<void> => {
    for (; ; kept++) await journal.append(entry);
  };
  await assert.rejects(fill(), refuses("N2I-E120", "journal.jsonl"));
  assert.equal(journal.entries().length, kept);
  await assert.rejects(journal.append(entry), refuses("N2I-E120"));
  await journal.close();
  assert.equal(spawnSync("mount", ["-o", "remount,size=1m", run.path]).status, 0);
  const again = await openJournal(run);
  assert.equal(again.entries().length, kept);
  await again.append(entry);
  await again.close();
});

test("a file that is abandoned leaves the old one and nothing else", async (t) => {
  const run = await tempRun(t);
  const path = await writePlan(run, [{ id: 1 }]);
  const old = await readFile(path);
  const writer = await createArtefact(run, "machines.jsonl", HEADER);
  for (let id = 0; id < 3000; id++) await writer.write({ id, text: "x".repeat(1000) });
  await writer.abandon();
  assert.deepEqual(await readFile(path), old);
  assert.deepEqual(await readdir(run.path), ["machines.jsonl"]);
});

test("a line longer than a reader takes is refused when it is written", async (t) => {
  const run = await tempRun(t);
  const writer = await createArtefact(run, "machines.jsonl", HEADER);
  const written = async (): Promise<void> => {
    await writer.write({ text: "x".repeat(17 * 1024 * 1024) });
  };
  await assert.rejects(written(), refuses("N2I-E120", "line 1 has"));
  assert.deepEqual(await readdir(join(run.path)), []);
});

test("a key on a read-only disk is read; a new one there is refused", async (t) => {
  const run = await mountedRun(t, "ro");
  const other = await tempRun(t);
  const key = await readOrMakeKey(other.path);
  await assert.rejects(readOrMakeKey(run.path), refuses("N2I-E120", "secret.key"));
  assert.deepEqual(await readOrMakeKey(run.path, join(other.path, "secret.key")), key);
});

test("a folder of another user is refused with the chown that fixes it", async (t) => {
  const { path } = await tempRun(t);
  await chown(path, 65534, 65534);
  await assert.rejects(openRun(path, { create: false }), refuses("N2I-E110", "chown -R 0"));
});
