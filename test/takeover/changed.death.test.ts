import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, killedAt } from "../hostile/cli.ts";
import { DOWN, deadCloud } from "./cloud.ts";

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
