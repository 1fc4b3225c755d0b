import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, killedAt } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { hostCloud } from "./cloud.ts";

const DEAD = { H1: { forced_down: false } };
const TAKE = [
  ...["host", "takeover", "--from", "H1", "--to", "H2"],
  ...["--service-down-time", "0.1", "--confirmed-down"],
];
const FIRST = /machine:a0000000-0000-4000-8000-000000000001 was left out: instances:1 was changed/;

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a machine that changed between a kill and the same words again stays whole`, async (t) => {
    const cloud = await hostCloud(t, { engine, services: DEAD });
    const { host, owners, db } = cloud;
    await killedAt("nova.commit.before:1", [...TAKE, ...cloud.at, ...cloud.nova]);
    await db("instances").where({ id: 1 }).update({ task_state: "powering-off" });
    const on = await ends(3, host(...TAKE));
    assert.match(on.err, FIRST);
    const moved = ["1 H1 NULL H1", "2 H2 NULL -", "3 H2 NULL H2", "4 H2 NULL -"];
    assert.deepEqual((await owners()).slice(0, 4), moved);
    // What is left is planned anew, and judged as any.
    const again = await ends(4, host(...TAKE));
    assert.match(again.err, /N2I-E317 .*D260/s);
    await db("instances").where({ id: 1 }).update({ task_state: null });
    await ends(0, host(...TAKE));
    assert.equal((await owners())[0], "1 H2 NULL H2");
    await ends(0, host("rollback", "--all", "--yes"));
    assert.equal((await owners())[0], "1 H1 NULL H1");
  });

testOnce(
  "a tenant's change between plan and move keeps that machine, and the others go",
  async (t) => {
    const { host, owners, db } = await hostCloud(t);
    const plan = [...["host", "plan", "--from", "H1", "--to", "H2"], "--service-down-time", "0.1"];
    await ends(0, host(...plan));
    await db("instances").where({ id: 1 }).update({ deleted: 1, task_state: null });
    for (const rows of [
      /4 rows changed, 0 so already; 1 machines/,
      /0 rows changed, 4 so already/,
    ]) {
      const moved = await ends(3, host("host", "move", "--yes"));
      assert.match(moved.err, FIRST);
      assert.match(moved.out, rows);
    }
    const [first, second, third] = await owners();
    assert.deepEqual([first, second, third], ["1 H1 NULL -", "2 H2 NULL -", "3 H2 NULL H2"]);
    // What is planned anew takes the idle machine along.
    await ends(0, host(...plan));
    await ends(0, host("host", "move", "--yes"));
    assert.equal((await owners())[0], "1 H2 NULL -");
  },
);
