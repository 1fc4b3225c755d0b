import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { changes, rowsOf, sameRows } from "../nova/rows.ts";
import { hostCloud, uuidOf } from "./cloud.ts";

const QUICK = ["--service-down-time", "0.1"];
const PLAN = ["host", "plan", "--from", "H1", "--to", "H2", ...QUICK];

for (const engine of engines("sqlite", "mysql"))
  for (const bound of [false, true])
    test(`on ${engine}, a move writes host${bound ? " and service_id" : ""} of compute nodes and host of instances, and nothing else of all tables`, async (t) => {
      const { host, made } = await hostCloud(t, {
        engine,
        bound,
        shape: bound ? "ab450ba04102" : 302,
      });
      const before = await rowsOf(made);
      await ends(0, host(...PLAN));
      sameRows(await rowsOf(made), before);
      await ends(0, host("host", "move", "--yes"));
      const computes = bound ? "compute_nodes service_id host" : "compute_nodes host";
      const written = changes(before, await rowsOf(made));
      const sorted = Object.fromEntries(
        Object.entries(written).map(([what, rows]) => [what.split(" ").toSorted().join(" "), rows]),
      );
      const wanted = computes.split(" ").toSorted().join(" ");
      assert.deepEqual(sorted, { [wanted]: 4, "host instances": 2 });
      await ends(0, host("rollback", "--all", "--yes"));
      sameRows(await rowsOf(made), before);
    });

testOnce(
  "a machine with two instances is refused in nova-manage's words, and no row of it changes",
  async (t) => {
    const { host, db, owners } = await hostCloud(t);
    const row = await db("instances").where({ id: 1 }).first();
    await db("instances").insert({ ...row, id: 77, uuid: uuidOf("instance", 77) });
    const planned = await host(...PLAN, "-f", "json");
    assert.match(
      planned.out,
      /Found an ironic host with more than one instance! Please delete all Nova instances that do not match the instance uuid recorded on the Ironic node\./,
    );
    await ends(3, host("host", "move", "--yes"));
    assert.equal((await owners())[0], "1 H1 NULL H1");
    assert.equal((await owners())[1], "2 H2 NULL -");
  },
);
