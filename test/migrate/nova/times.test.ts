import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { plannedCloud } from "./planned.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

const TABLES = [
  ...["instances", "compute_nodes", "services", "aggregate_hosts"],
  ...["instance_types", "instance_type_extra_specs"],
];
const TIMES = { created_at: "2014-01-02 03:04:05", updated_at: "2014-11-12 13:14:15" };

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, no row's times are written there or back, and what nova-compute wrote of itself meanwhile stays`, async (t) => {
    const { act, nova } = await plannedCloud(engine, t);
    for (const table of TABLES) await nova.db(table).update(TIMES);
    const before = await rowsOf(nova);
    await ends(0, act(["apply"]));
    const columns = Object.keys(changes(before, await rowsOf(nova))).join(" ");
    assert.doesNotMatch(columns, /updated_at|created_at/);
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(nova), before);

    await ends(0, act(["apply"]));
    // A last heartbeat, and a sync of power states: neither is a change of what is to come back.
    const beat = { report_count: 11, updated_at: "2014-12-24 00:00:00" };
    await nova.db("services").where({ id: 1 }).update(beat);
    await nova.db("instances").where({ id: 2 }).update({ updated_at: beat.updated_at });
    await ends(0, act(["rollback", "--all"]));
    assert.deepEqual(changes(before, await rowsOf(nova)), {
      "services updated_at report_count": 1,
      "instances updated_at": 1,
    });
  });
