import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ends, killedAt } from "../hostile/cli.ts";
import { smallBatches } from "../support/batches.ts";
import { deadCloud, FROM_H1 } from "./cloud.ts";

// Deaths at every entry of the journal, on the way there and back, are in steps/host-move.test.

/** The fence's commit, then those of two batches of machines. */
const COMMITS = [
  ...["fence.commit.before:1", "fence.commit.after:1"],
  ...["nova.commit.before:1", "nova.commit.after:2"],
];
/** The way back: two batches of machines, then the fence. */
const BACK_COMMITS = [1, 3].flatMap((n) => [`nova.commit.before:${n}`, `nova.commit.after:${n}`]);

const TAKE = ["host", "takeover", ...FROM_H1];
const ALL = ["rollback", "--all", "--yes"];

for (const engine of ["sqlite", "mysql", "postgresql"] as const)
  test(`on ${engine}, a takeover that is killed around a commit goes on by the same words, or back`, async (t) => {
    smallBatches(t);
    const cloud = await deadCloud(t, { engine, machines: 6 });
    const state = async () => JSON.stringify([await cloud.owners(), await cloud.services()]);
    const before = await state();
    const runOf = (name: string) => ["--run", join(cloud.folder, "runs", name), ...cloud.nova];
    const does = (words: readonly string[], name: string) =>
      ends(0, cloud.host(...words, "--run", join(cloud.folder, "runs", name)));
    for (const [at, point] of COMMITS.entries()) {
      const on = `on-${at}`;
      await killedAt(point, [...TAKE, ...runOf(on)]);
      await does(TAKE, on);
      for (const owner of (await cloud.owners()).slice(0, 6))
        assert.match(owner, / H2 NULL (H2|-)$/, point);
      assert.equal(Boolean((await cloud.services())[0]?.forced_down), true, point);
      await does(ALL, on);
      assert.equal(await state(), before, point);
      // The same death, and nothing but a rollback after it.
      const alone = `alone-${at}`;
      await killedAt(point, [...TAKE, ...runOf(alone)]);
      await does(ALL, alone);
      assert.equal(await state(), before, `${point}, taken back`);
    }
    for (const [at, point] of BACK_COMMITS.entries()) {
      const name = `undo-${at}`;
      await does(TAKE, name);
      await killedAt(point, [...ALL, ...runOf(name)]);
      await does(TAKE, name);
      await does(ALL, name);
      assert.equal(await state(), before, point);
    }
  });
