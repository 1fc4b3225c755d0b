import assert from "node:assert/strict";
import { test } from "node:test";
import { engines, testOnce } from "../lab/engines.ts";
import { changes, rowsOf, sameRows } from "../nova/rows.ts";
import { hostCloud, uuidOf } from "./cloud.ts";

const QUICK = ["--service-down-time", "0.1"];
const PLAN = ["host", "plan", "--from", "H1", "--to", "H2", ...QUICK];

for (const engine of engines())
  for (const bound of [false, true])
    test(`on ${engine}, a move writes host${bound ? " and service_id" : ""} of compute nodes and host of instances, and nothing else of all tables`, async (t) => {
      const cloud = await hostCloud(t, { engine, bound, shape: bound ? "ab450ba04102" : 302 });
      const { host, made } = cloud;
      const before = await rowsOf(made);
      assert.equal((await host(...PLAN)).status, 0);
      sameRows(await rowsOf(made), before);
      const moved = await host("host", "move", "--yes");
      assert.equal(moved.status, 0, moved.err);
      const computes = bound ? "compute_nodes service_id host" : "compute_nodes host";
      const written = changes(before, await rowsOf(made));
      const sorted = Object.fromEntries(
        Object.entries(written).map(([what, rows]) => [what.split(" ").toSorted().join(" "), rows]),
      );
      const wanted = computes.split(" ").toSorted().join(" ");
      assert.deepEqual(sorted, { [wanted]: 4, "host instances": 2 });
      const back = await host("rollback", "--all", "--yes");
      assert.equal(back.status, 0, back.err);
      sameRows(await rowsOf(made), before);
    });

testOnce(
  "a machine with two instances is refused in nova-manage's words, and no row of it changes",
  async (t) => {
    const cloud = await hostCloud(t);
    assert.ok(cloud);
    const { host, db, owners } = cloud;
    const row = await db("instances").where({ id: 1 }).first();
    await db("instances").insert({ ...row, id: 77, uuid: uuidOf("instance", 77) });
    const planned = await host(...PLAN, "-f", "json");
    assert.match(
      planned.out,
      /Found an ironic host with more than one instance! Please delete all Nova instances that do not match the instance uuid recorded on the Ironic node\./,
    );
    assert.equal((await host("host", "move", "--yes")).status, 3);
    assert.equal((await owners())[0], "1 H1 NULL H1");
    assert.equal((await owners())[1], "2 H2 NULL -");
  },
);
