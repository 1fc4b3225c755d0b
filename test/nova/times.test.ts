import assert from "node:assert/strict";
import { test } from "node:test";
import { engines } from "../lab/engines.ts";
import { plannedCloud } from "./planned.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

const TABLES = [
  ...["instances", "compute_nodes", "services", "aggregate_hosts"],
  ...["instance_types", "instance_type_extra_specs"],
];
const TIMES = { created_at: "2014-01-02 03:04:05", updated_at: "2014-11-12 13:14:15" };

for (const engine of engines())
  test(`on ${engine}, no row's times are written there or back, and what nova-compute wrote of itself meanwhile stays`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova } = made;
    for (const table of TABLES) await nova.db(table).update(TIMES);
    const before = await rowsOf(nova);
    const applied = await act(["apply"]);
    assert.equal(applied.status, 0, applied.err);
    const columns = Object.keys(changes(before, await rowsOf(nova))).join(" ");
    assert.doesNotMatch(columns, /updated_at|created_at/);
    const back = await act(["rollback", "--all"]);
    assert.equal(back.status, 0, back.err);
    sameRows(await rowsOf(nova), before);

    assert.equal((await act(["apply"])).status, 0);
    // A last heartbeat, and a sync of power states: neither is a change of what is to come back.
    const beat = { report_count: 11, updated_at: "2014-12-24 00:00:00" };
    await nova.db("services").where({ id: 1 }).update(beat);
    await nova.db("instances").where({ id: 2 }).update({ updated_at: beat.updated_at });
    const again = await act(["rollback", "--all"]);
    assert.equal(again.status, 0, `${again.out}${again.err}`);
    assert.deepEqual(changes(before, await rowsOf(nova)), {
      "services updated_at report_count": 1,
      "instances updated_at": 1,
    });
  });
