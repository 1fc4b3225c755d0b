import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findPlan, replaceable } from "../../../src/edge/disk/archive.ts";
import { digestOnly } from "../../../src/edge/disk/artefact-reader.ts";
import { refuses, tempRun, writePlan } from "./temp-run.ts";

test("a plan the journal names is kept beside the new one and found by its digest", async (t) => {
  const run = await tempRun(t);
  const path = await writePlan(run, [{ id: 1 }]);
  const [old, sha256] = [await readFile(path), await digestOnly(path)];
  const kept = await replaceable(run, "plan.jsonl", new Set([sha256]));
  assert.equal(kept, join(run.path, `plan-${sha256.slice(0, 12)}.jsonl`));
  assert.equal(await replaceable(run, "plan.jsonl", new Set([sha256])), kept);
  assert.equal(await findPlan(run, sha256), path);
  await writePlan(run, [{ id: 2 }]);
  assert.equal(await findPlan(run, sha256), kept);
  assert.deepEqual(await readFile(kept), old);
  assert.equal(await findPlan(run, await digestOnly(path)), path);
});

test("a plan the journal does not name, or none at all, is not kept", async (t) => {
  const run = await tempRun(t);
  assert.equal(await replaceable(run, "plan.jsonl", new Set(["0".repeat(64)])), null);
  await writePlan(run, [{ id: 1 }]);
  assert.equal(await replaceable(run, "plan.jsonl", new Set(["0".repeat(64)])), null);
  assert.deepEqual(await readdir(run.path), ["plan.jsonl"]);
});

test("another file under the kept name is refused and left as it is", async (t) => {
  const run = await tempRun(t);
  const sha256 = await digestOnly(await writePlan(run, [{ id: 1 }]));
  const kept = join(run.path, `plan-${sha256.slice(0, 12)}.jsonl`);
  await writeFile(kept, "mine\n");
  const keep = new Set([sha256]);
  await assert.rejects(replaceable(run, "plan.jsonl", keep), refuses("N2I-E112", kept));
  assert.equal(await readFile(kept, "utf8"), "mine\n");
});

test("a plan that is gone is refused with the name to put it back under", async (t) => {
  const run = await tempRun(t);
  const path = await writePlan(run, [{ id: 1 }]);
  const sha256 = await digestOnly(path);
  await rm(path);
  const name = `plan-${sha256.slice(0, 12)}.jsonl`;
  await assert.rejects(findPlan(run, sha256), refuses("N2I-E110", name));
});
