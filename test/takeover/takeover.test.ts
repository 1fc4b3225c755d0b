import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openArtefact } from "../../src/run/files/artefact-reader.ts";
import { ends, run } from "../hostile/cli.ts";
import { CLOCK } from "../lab/bmc/quick-clock.ts";
import { DOWN, deadCloud, QUICK, reportsOn, TAKE, takenForLost, uuidOf } from "./cloud.ts";

test("a host that reports while it is watched is not taken over, whatever its age said", async (t) => {
  const cloud = await deadCloud(t);
  const take = () => cloud.host(...TAKE, "--service-down-time", "500", "--confirmed-down");
  const alive = await ends(4, reportsOn(cloud.db, take));
  assert.match(alive.err, /N2I-E316 nova-compute of H1 reported/);
  assert.equal(Boolean((await cloud.services())[0]?.forced_down), false);
});

test("a host is watched for a second more than it may be silent", async (t) => {
  const { host } = await deadCloud(t);
  const began = CLOCK.clock?.now() ?? 0;
  await ends(0, host(...DOWN));
  // Nova's times have whole seconds: a host that was silent for 60.2 s may have an age of 60 s.
  assert.ok((CLOCK.clock?.now() ?? 0) - began >= 61_000);
});

test("machines are shared among several hosts, each named once", async (t) => {
  const cloud = await deadCloud(t);
  await ends(0, cloud.host(...DOWN.map((word) => (word === "H2" ? "H2,H3" : word))));
  const hosts = (await cloud.owners()).slice(0, 4).map((row) => row.split(" ")[1]);
  assert.ok(hosts.every((host) => host === "H2" || host === "H3"));
});

test("a takeover that came to its end is done, wherever its machines went since", async (t) => {
  const cloud = await deadCloud(t);
  const { db, host } = cloud;
  await db("instances").where({ id: 3 }).update({ task_state: "rebooting" });
  await ends(3, host(...DOWN));
  // The one that was left, and one that was taken, are moved elsewhere by hand.
  for (const id of [1, 3]) {
    await db("instances").where({ id }).update({ host: "H3", task_state: null });
    await db("compute_nodes").where({ id }).update({ host: "H3" });
  }
  const before = await cloud.owners();
  await db("services").where({ host: "H2" }).update({ disabled: true });
  const none = /^No machine of H1 is left\. verify shows the hosts that serve its machines now\.$/m;
  for (const words of [DOWN, [...TAKE, ...QUICK, "--yes"]]) {
    const again = await ends(0, host(...words));
    assert.match(again.out, /^Host move: 0 rows changed, 4 already done\.$/m);
    assert.match(again.err, none);
  }
  assert.deepEqual(await cloud.owners(), before);
  // A machine of H1 is planned again.
  await db("compute_nodes").where({ id: 4 }).update({ host: "H1" });
  await db("services").where({ host: "H2" }).update({ disabled: false });
  assert.match((await ends(0, host(...DOWN))).out, /1 row changed, 0 already done/);
});

test("an instance Nova works on waits for a word, and goes with task_state cleared", async (t) => {
  const cloud = await deadCloud(t);
  await cloud.db("instances").where({ id: 1 }).update({ task_state: "powering-off" });
  const site = takenForLost(cloud.folder, { uuid: uuidOf("node", 1) });
  const first = await ends(3, cloud.host(...DOWN, "--settle", "1"));
  assert.match(first.err, /Waiting at most 1 s: 1 instance of H1 with a task/);
  assert.equal((await cloud.owners())[0], "1 H1 NULL H1");
  await ends(0, cloud.host(...DOWN, ...site));
  assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
  const [row] = await cloud.db("instances").where({ id: 1 });
  assert.equal(row.task_state, null);
  // Both plans of the run are taken back, and the fence of the first with them.
  await ends(0, cloud.host("rollback", "--all", "--yes"));
  const [was] = await cloud.db("instances").where({ id: 1 });
  assert.deepEqual([was.host, was.task_state], ["H1", null], "the request stays lost");
  assert.equal(Boolean((await cloud.services())[0]?.forced_down), false);
});

test("verify is 2 and a host stays fenced until its queue is said to be emptied and no instance names it", async (t) => {
  const cloud = await deadCloud(t);
  const taken = await ends(0, cloud.host(...DOWN));
  assert.match(taken.out + taken.err, /rabbitmqctl purge_queue compute\.H1/);
  const verify = ["verify", ...cloud.at];
  const waits = await ends(2, run(verify));
  assert.match(waits.out, /compute\.H1 .*on the broker, run rabbitmqctl purge_queue compute\.H1/);
  const bare = ["host", "readmit", ...cloud.at, "H1", "--yes"];
  const queue = /N2I-E319 compute\.H1 may not be empty: run rabbitmqctl purge_queue compute\.H1/;
  assert.match((await run(bare)).err, queue);
  const readmit = [...bare, "--queue-purged"];
  await ends(0, run([...verify, "--queue-purged"]));
  await cloud.db("instances").where({ id: 1 }).update({ host: "H1" });
  const { err } = await run(readmit);
  assert.match(err, /N2I-E319 instances have host H1, but other hosts serve their machines/);
  await cloud.db("instances").where({ id: 1 }).update({ host: "H2" });
  await ends(0, run(readmit));
  const [h1] = await cloud.services();
  assert.deepEqual([Boolean(h1?.forced_down), h1?.disabled_reason], [false, null]);
  await ends(0, run(verify));
  assert.match((await run(readmit)).err, /did not fence H1/);
  assert.match((await run(readmit.with(bare.indexOf("H1"), "h1"))).err, /Nova spells h1 as H1/);
});

test("the recipe by hand is 2 until the new host took its compute node, and says which", async (t) => {
  const cloud = await deadCloud(t, { services: {} });
  await ends(0, cloud.host("host", "plan", "--from", "H1", "--to", "H2"));
  await cloud.db("instances").where({ host: "H1" }).update({ host: "H2" });
  const half = await ends(2, cloud.host("host", "verify", "--queue-purged"));
  assert.match(half.out, /compute_nodes:1 .*it still has host H1\. nova-compute of H2 changes it/);
  await cloud.db("compute_nodes").where({ host: "H1" }).update({ host: "H2" });
  await ends(0, cloud.host("host", "verify", "--queue-purged"));
});

test("an instance that was deleted meanwhile leaves its node orphaned: verify is 2", async (t) => {
  const cloud = await deadCloud(t);
  await ends(0, cloud.host(...DOWN));
  await cloud.db("instances").where({ id: 1 }).update({ deleted: 1 });
  const orphaned = await ends(2, cloud.host("verify", "--queue-purged"));
  assert.match(orphaned.out, /orphaned: it was deleted, but/);
});

test("what tenants changed since stays where it is, and the fence with it", async (t) => {
  const cloud = await deadCloud(t);
  await ends(0, cloud.host(...DOWN));
  await cloud.db("instances").where({ id: 1 }).update({ task_state: "rebooting" });
  const back = await ends(2, cloud.host("rollback", "--all", "--yes"));
  assert.match(back.out, /machine:a0000000-0000-4000-8000-000000000001/);
  assert.match(back.out, /A fence of this run is kept/);
  const half = ["1 H2 NULL H2", "2 H1 NULL -", "3 H1 NULL H1"];
  assert.deepEqual((await cloud.owners()).slice(0, 3), half);
  assert.equal(Boolean((await cloud.services())[0]?.forced_down), true);
  await cloud.db("instances").where({ id: 1 }).update({ task_state: null });
  await ends(0, cloud.host("rollback", "--all", "--yes"));
  assert.equal((await cloud.owners())[0], "1 H1 NULL H1");
  assert.equal(Boolean((await cloud.services())[0]?.forced_down), false);
});

test("one machine is taken back by its name", async (t) => {
  const cloud = await deadCloud(t);
  await ends(0, cloud.host(...DOWN));
  await ends(0, cloud.host("rollback", "--node", uuidOf("node", 3), "--yes"));
  const half = ["1 H2 NULL H2", "2 H2 NULL -", "3 H1 NULL H1"];
  assert.deepEqual((await cloud.owners()).slice(0, 3), half);
  assert.equal(Boolean((await cloud.services())[0]?.forced_down), true);
  assert.match((await cloud.host("rollback", "--node", "nobody", "--yes")).err, /N2I-E306/);
});

test("a takeover that is only shown writes nothing, and show lists its machines, rows and findings", async (t) => {
  const cloud = await deadCloud(t);
  const only = await ends(0, cloud.host(...TAKE, ...QUICK, "--plan"));
  assert.match(only.out, /Plan: 4 of 4 machines to move/);
  const bare = await cloud.host(...TAKE, ...QUICK, "--yes");
  assert.match(bare.err, /--yes does not confirm that H1 is down/);
  assert.equal((await cloud.owners())[0], "1 H1 NULL H1");
  assert.equal(Boolean((await cloud.services())[0]?.forced_down), false);
  const plan = join(cloud.folder, "runs", "h1", "plan");
  const machines = await run(["show", plan, "-f", "csv", "-c", "Machine", "-c", "Verdict"]);
  assert.equal(machines.out.trim().split("\n").length, 5, machines.err);
  const rows = await run(["show", plan, "--nova", "-f", "csv"]);
  assert.match(rows.out, /services:1/);
  assert.match(rows.out, /N2I-D267/);
  assert.equal((await openArtefact(join(plan, "moves.jsonl"), "moves")).footer.sha256.length, 64);
  await ends(0, run(["show", join(plan, "moves.jsonl"), "-f", "csv"]));
});
