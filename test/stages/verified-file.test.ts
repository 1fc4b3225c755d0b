import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openRun } from "../../src/edge/disk/run-folder.ts";
import { readVerified, rememberVerified, wasCompared } from "../../src/stages/verified-file.ts";

test("a look that finds a difference ends what was built on it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-verified-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const run = await openRun(join(folder, "run"), { create: true });
  const plan = "a".repeat(64);
  const found = async (how: "rows" | "takeover" | "final", equal: boolean) => {
    await rememberVerified(run, plan, { [how]: equal });
    const state = await readVerified(run, plan, 0);
    return [state?.rows, state?.takeover, state?.final];
  };
  await rememberVerified(run, plan, { ironic: true });
  assert.equal(await readVerified(run, plan, 0), undefined, "verify has not looked");
  assert.deepEqual(await found("rows", true), [true, false, false]);
  assert.equal(await wasCompared(run, plan, 0), true);
  assert.equal(await wasCompared(run, plan, 1), false);
  assert.deepEqual(await found("takeover", true), [true, true, false]);
  assert.deepEqual(await found("final", true), [true, true, true]);
  assert.deepEqual(await found("takeover", false), [true, false, false]);
  assert.deepEqual(await found("final", true), [true, false, true]);
  assert.deepEqual(await found("rows", false), [false, false, false]);
  assert.equal(await readVerified(run, "b".repeat(64), 0), undefined);
});
