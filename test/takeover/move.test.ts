import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import type { NovaStep } from "../../src/model/nova/nova-plan.ts";
import { performFence } from "../../src/systems/nova-db/perform.ts";
import { ends, pausedAt, run } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { changes, rowsOf, sameRows } from "../migrate/nova/rows.ts";
import { open } from "../support/planned-case.ts";
import { ago, BRIEF, deadCloud, type HostCloud, hostCloud, MOVE, PLAN, uuidOf } from "./cloud.ts";

const HERE = ["1 H1 NULL H1", "2 H1 NULL -", "3 H1 NULL H1", "4 H1 NULL -"];
const THERE = ["1 H2 NULL H2", "2 H2 NULL -", "3 H2 NULL H2", "4 H2 NULL -"];
const OTHERS = ["9000001 H2 NULL -", "9000002 H3 NULL -"];

for (const engine of engines())
  test(`on ${engine}, machines of a fenced host go to another and come back`, async (t) => {
    const { host, owners, services, db } = await hostCloud(t, { engine });
    const before = await db("instances").orderBy("id");
    const said = await services();
    const planned = await ends(0, host(...PLAN));
    assert.match(planned.out, /Plan: 4 of 4 machines to move \(4 compute nodes, 2 instances\)/);
    assert.match((await host("status")).err, /^Next: nova2ironic host move --run/m);
    await ends(2, host("verify", "--queue-purged"));
    const moved = await ends(0, host(...MOVE));
    assert.match(moved.err, /rabbitmqctl purge_queue compute\.H1/);
    assert.deepEqual(await owners(), [...THERE, ...OTHERS]);
    const unseen = await ends(2, host("verify"));
    assert.match(unseen.out, /compute\.H1 .*not checked/);
    await ends(0, host("verify", "--queue-purged"));
    const again = await host(...MOVE);
    assert.match(again.out, /0 rows changed, 6 already done/);
    const shown = await host("rollback", "--all", "--plan");
    assert.match(shown.out, /would restore 6 rows and leave 0/, shown.err);
    await ends(0, host("rollback", "--all", "--yes"));
    assert.deepEqual(await owners(), [...HERE, ...OTHERS]);
    assert.deepEqual(await db("instances").orderBy("id"), before);
    assert.deepEqual(await services(), said);
    assert.match((await host("status")).err, /rolled back/);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a machine is planned once, however its uuid is spelt`, async (t) => {
    const cloud = await hostCloud(t, { engine });
    const node = uuidOf("node", 1);
    await cloud.db("instances").where({ id: 1 }).update({ node: node.toUpperCase() });
    const planned = await ends(0, cloud.host(...PLAN, "-f", "csv", "-c", "Machine"));
    const machines = planned.out.trim().split("\n").slice(1);
    assert.equal(machines.length, 4, planned.out);
    await ends(0, cloud.host(...MOVE));
    const rows = await cloud.db("instances").where({ id: 1 }).first("host", "node");
    assert.deepEqual(rows, { host: "H2", node: node.toUpperCase() });
  });

/** The fence's statement on a real server: what it changes of a host that reported so many seconds ago. */
async function fences(engine: Engine, cloud: HostCloud, age: number, seen: number) {
  const database = await open("env:NOVA", false, { NOVA: cloud.made.url });
  try {
    const reported = { last_seen_up: ago(age), report_count: 101 };
    await cloud.db("services").where({ id: 1 }).update(reported);
    const common = { host: "H1", deleted: 0 };
    const step: NovaStep = {
      ...{ id: "services:1", part: "hosts", table: "services", key: { id: 1 } },
      before: { ...common, forced_down: false, disabled_reason: null },
      after: { ...common, forced_down: true, disabled_reason: `on ${engine}` },
      ...{ machine: null, of: "nova-compute of H1" },
    };
    const nothing = () => Promise.resolve();
    const hooks = { owned: () => true, precondition: nothing, observed: nothing };
    const host = () => ({ id: 1, report_count: seen, down: 20 });
    return await performFence(database, [step], host, hooks).then(
      ({ done, found }) => `${done.length} done, ${found.length} found`,
      (error: { readonly code: string }) => error.code,
    );
  } finally {
    await database.close();
  }
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, one statement fences a host that is silent for long enough, and no other`, async (t) => {
    const cloud = await deadCloud(t, { engine });
    assert.equal(await fences(engine, cloud, 1, 101), "N2I-E316");
    assert.equal(await fences(engine, cloud, 10, 101), "N2I-E316");
    // It reported since it was looked at, whatever the clocks say.
    assert.equal(await fences(engine, cloud, 600, 100), "N2I-E316");
    // A clock a little ahead; one that is an hour ahead hides no death.
    assert.equal(await fences(engine, cloud, -30, 101), "N2I-E316");
    assert.equal(await fences(engine, cloud, -3600, 100), "N2I-E316");
    assert.equal(Boolean((await cloud.services())[0]?.forced_down), false);
    assert.equal(await fences(engine, cloud, -3600, 101), "1 done, 0 found");
    const undone = { forced_down: false, disabled_reason: null };
    await cloud.db("services").where({ id: 1 }).update(undone);
    assert.equal(await fences(engine, cloud, 23, 101), "1 done, 0 found");
    assert.equal(await fences(engine, cloud, 23, 101), "0 done, 1 found");
    // Somebody else's word in the row is not overwritten.
    const kernel = { forced_down: false, disabled_reason: "kernel" };
    await cloud.db("services").where({ id: 1 }).update(kernel);
    assert.equal(await fences(engine, cloud, 23, 101), "N2I-E316");
  });

for (const engine of engines("sqlite", "mysql"))
  for (const bound of [false, true])
    test(`on ${engine}, a move writes host${bound ? " and service_id" : ""} of compute nodes and host of instances, and nothing else of all tables`, async (t) => {
      const shape = bound ? "ab450ba04102" : 302;
      const { host, made } = await hostCloud(t, { engine, bound, shape });
      const before = await rowsOf(made);
      await ends(0, host(...PLAN));
      sameRows(await rowsOf(made), before);
      await ends(0, host(...MOVE));
      const written = Object.entries(changes(before, await rowsOf(made)));
      const found = written.map(([what, rows]) => `${rows} ${what.split(" ").sort().join(" ")}`);
      const computes = bound ? "4 compute_nodes host service_id" : "4 compute_nodes host";
      assert.deepEqual(found.toSorted(), ["2 host instances", computes]);
      await ends(0, host("rollback", "--all", "--yes"));
      sameRows(await rowsOf(made), before);
    });

const NODE = uuidOf("node", 1);

async function planned({ host, folder, nova }: HostCloud) {
  const runs = ["H2", "H3"].map((to) => ({ to, at: ["--run", join(folder, "runs", `to-${to}`)] }));
  for (const { to, at } of runs) {
    await ends(0, host("host", "plan", "--node", NODE, "--to", to, ...BRIEF, ...at));
  }
  return runs.map(({ at }) => ["host", "move", ...at, ...nova, "--yes"]);
}

for (const engine of engines())
  test(`on ${engine}, of two processes on one machine the one that is there first moves it, and the other ends with 11`, async (t) => {
    const cloud = await hostCloud(t, { engine });
    const [one = [], other = []] = await planned(cloud);
    const first = await pausedAt("nova.commit.before:1", one);
    assert.equal((await cloud.owners())[0], "1 H1 NULL H1", "both rows, or none");
    const second = await ends(11, run(other));
    assert.match(second.err, /N2I-E302/);
    first.signal("SIGUSR2");
    await ends(0, first.ended);
    assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
    const stale = await ends(4, run(other));
    assert.match(stale.err, /N2I-E300 nothing was moved: .*has changed since in host/);
    assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
  });
