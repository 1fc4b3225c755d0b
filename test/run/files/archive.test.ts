import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  createPlan,
  findPlan,
  openManifest,
  removePlans,
} from "../../../src/run/files/plan-folder.ts";
import { lockRun, type RunFolder } from "../../../src/run/files/run-folder.ts";
import { copyFolder } from "../../support/copy-folder.ts";
import { refuses, tempRun } from "./temp-run.ts";

const NOTHING = () => Promise.resolve();

/** Makes a plan of these machines the run's; its digest. */
async function makePlan(run: RunFolder, lines: readonly object[], placed = NOTHING) {
  const plan = await createPlan(run);
  const machines = await plan.begin("machines", { format: "nova2ironic/machines@1" });
  for (const line of lines) await machines.write(line);
  return plan.finish({ tool: "0.1" } as never, placed);
}

async function twoPlans(t: TestContext) {
  const run = await tempRun(t);
  const first = await makePlan(run, [{ id: 1 }]);
  const old = await readFile(join(run.path, "plan", "machines.jsonl"));
  const second = await makePlan(run, [{ id: 2 }]);
  return { run, first, second, old };
}

const named = (sha256: string): string => `plan-${sha256.slice(0, 12)}`;

test("a plan the journal names is kept beside the new one and found by its digest", async (t) => {
  const { run, first, second, old } = await twoPlans(t);
  await removePlans(run, new Set([first]));
  const kept = join(run.path, named(first));
  assert.equal(await findPlan(run, first), kept);
  assert.deepEqual(await readFile(join(kept, "machines.jsonl")), old);
  assert.equal(await findPlan(run, second), join(run.path, named(second)));
  assert.equal(readlinkSync(join(run.path, "plan")), named(second));
});

test("a plan the journal does not name goes when another one takes its place", async (t) => {
  const { run, second } = await twoPlans(t);
  mkdirSync(join(run.path, "plan-of-mine"));
  await removePlans(run, new Set());
  assert.deepEqual((await readdir(run.path)).toSorted(), ["plan", named(second), "plan-of-mine"]);
});

test("the same plan made again stays, and one that was damaged is whole again", async (t) => {
  const run = await tempRun(t);
  const sha256 = await makePlan(run, [{ id: 1 }]);
  const path = join(run.path, named(sha256), "machines.jsonl");
  const whole = await readFile(path);
  assert.equal(await makePlan(run, [{ id: 1 }]), sha256);
  for (const damage of [() => appendFileSync(path, "{}\n"), () => rm(path)]) {
    await damage();
    assert.equal(await makePlan(run, [{ id: 1 }]), sha256);
    assert.deepEqual(await readFile(path), whole);
  }
  assert.deepEqual((await readdir(run.path)).toSorted(), ["plan", named(sha256)]);
});

test("a plan that ends before it is the run's leaves the one there was, and no trace", async (t) => {
  const run = await tempRun(t);
  const sha256 = await makePlan(run, [{ id: 1 }]);
  const plan = await createPlan(run);
  await (await plan.begin("machines", { format: "nova2ironic/machines@1" })).write({ id: 2 });
  await plan.abandon();
  assert.deepEqual((await readdir(run.path)).toSorted(), ["plan", named(sha256)]);
  await assert.rejects(
    makePlan(run, [{ id: 2 }], () => Promise.reject(new Error("killed"))),
    /killed/,
  );
  assert.equal((await openManifest(join(run.path, "plan"))).sha256, sha256);
  await removePlans(run, new Set());
  assert.deepEqual((await readdir(run.path)).toSorted(), ["plan", named(sha256)]);
});

test("what a plan that was killed left behind is removed with the next lock", async (t) => {
  const run = await tempRun(t);
  const sha256 = await makePlan(run, [{ id: 1 }]);
  const folder = "plan.1-00000000.n2i-tmp";
  mkdirSync(join(run.path, folder));
  writeFileSync(join(run.path, folder, "machines.jsonl"), "{");
  symlinkSync(named(sha256), join(run.path, "plan.1-00000001.n2i-tmp"));
  const release = await lockRun(run, "test");
  await release();
  assert.deepEqual((await readdir(run.path)).toSorted(), ["plan", named(sha256)]);
});

test("a copy of a run leads to no plan of the run it was copied from", async (t) => {
  const { run, second } = await twoPlans(t);
  const copy = await tempRun(t);
  copyFolder(run.path, copy.path);
  await rm(join(copy.path, "plan"));
  symlinkSync(join(run.path, named(second)), join(copy.path, "plan"));
  assert.equal(
    (await openManifest(join(copy.path, "plan"))).folder,
    join(copy.path, named(second)),
  );
});

test("a plan's folder that a copy put in place of the link is read, and not written over", async (t) => {
  const { run, first, second } = await twoPlans(t);
  const path = join(run.path, "plan");
  await rm(path);
  await rename(join(run.path, named(second)), path);
  assert.equal(await findPlan(run, second), path);
  await assert.rejects(makePlan(run, [{ id: 3 }]), refuses("N2I-E113", "is a folder, not a link"));
  assert.deepEqual((await readdir(run.path)).toSorted(), ["plan", named(first)]);
});

test("a plan that is gone is refused with the name to put it back under", async (t) => {
  const { run, first } = await twoPlans(t);
  await rm(join(run.path, named(first)), { recursive: true });
  await assert.rejects(findPlan(run, first), refuses("N2I-E110", named(first)));
});
