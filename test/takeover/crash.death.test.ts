import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ends, killedAt } from "../hostile/cli.ts";
import { smallBatches } from "../support/batches.ts";
import { DOWN, deadCloud, FROM_H1 } from "./cloud.ts";

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

const FIRST =
  /machine:a0000000-0000-4000-8000-000000000001 was skipped: instances:1 has changed since in task_state/;

for (const engine of ["sqlite", "mysql"] as const)
  test(`on ${engine}, a machine that changed between a kill and the same words again stays whole`, async (t) => {
    const cloud = await deadCloud(t, { engine });
    const { host, owners, db } = cloud;
    await killedAt("nova.commit.before:1", [...DOWN, ...cloud.at, ...cloud.nova]);
    await db("instances").where({ id: 1 }).update({ task_state: "powering-off" });
    const on = await ends(3, host(...DOWN));
    assert.match(on.err, FIRST);
    const moved = ["1 H1 NULL H1", "2 H2 NULL -", "3 H2 NULL H2", "4 H2 NULL -"];
    assert.deepEqual((await owners()).slice(0, 4), moved);
    // The remaining machines are planned and judged again.
    const again = await ends(4, host(...DOWN));
    assert.match(again.err, /N2I-E317 .*D260/s);
    await db("instances").where({ id: 1 }).update({ task_state: null });
    await ends(0, host(...DOWN));
    assert.equal((await owners())[0], "1 H2 NULL H2");
    await ends(0, host("rollback", "--all", "--yes"));
    assert.equal((await owners())[0], "1 H1 NULL H1");
  });
