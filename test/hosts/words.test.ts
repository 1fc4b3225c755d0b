import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "../hostile/cli.ts";
import { smallBatches } from "../support/batches.ts";
import { hostCloud, reportH1, reportsLate, reportsOn, uuidOf } from "./cloud.ts";

const QUICK = ["--service-down-time", "0.1"];
const DEAD = { H1: { forced_down: false } };
const TAKE = [
  ...["host", "takeover", "--from", "H1", "--to", "H2"],
  ...["--service-down-time", "0.1", "--confirmed-down"],
];

test("only hosts that machines leave are spoken of, and who serves a machine keeps it", async (t) => {
  const cloud = await hostCloud(t);
  assert.ok(cloud);
  const { host, db, owners } = cloud;
  await db("compute_nodes").where({ id: 2 }).update({ host: "H3" });
  await db("compute_nodes").where({ id: 4 }).update({ host: "H2" });
  const nodes = [1, 2, 4].flatMap((id) => ["--node", uuidOf("node", id)]);
  const planned = await host("host", "plan", ...nodes, "--to", "H2", ...QUICK);
  assert.equal(planned.status, 0, planned.err);
  assert.match(planned.out, /purge_queue compute\.H1/);
  assert.doesNotMatch(planned.out, /purge_queue compute\.H[23]/);
  await db("services").whereNot({ host: "H1" }).increment("report_count", 1);
  const moved = await host("host", "move", "--yes");
  assert.equal(moved.status, 3, moved.out + moved.err);
  assert.match(moved.out, /2 rows changed, 0 so already; 1 machines were left out/);
  assert.doesNotMatch(moved.err, /purge_queue compute\.H[23]/);
  assert.deepEqual((await owners()).slice(0, 4), [
    ...["1 H2 NULL H2", "2 H3 NULL -", "3 H1 NULL H1", "4 H2 NULL -"],
  ]);
});

test("a report between the watch and the plan is no fence's ground", async (t) => {
  const cloud = await hostCloud(t, { services: DEAD });
  assert.ok(cloud);
  const { host, db, services } = cloud;
  await db("instances").where({ id: 1 }).update({ task_state: "rebooting" });
  const ran = await reportsLate(db, host(...TAKE, "--settle", "2"));
  assert.equal(ran.status, 4, ran.out + ran.err);
  assert.match(ran.err, /N2I-E316 nova-compute of H1 reported after it was watched/);
  assert.equal(Boolean((await services())[0]?.forced_down), false);
});

test("a fenced host that reported since the plan is watched before machines leave it", async (t) => {
  const cloud = await hostCloud(t);
  assert.ok(cloud);
  const { host, db, owners } = cloud;
  const plan = ["host", "plan", "--from", "H1", "--to", "H2", "--service-down-time", "1"];
  assert.equal((await host(...plan)).status, 0);
  await reportH1(db);
  const runs = await reportsOn(db, host("host", "move", "--yes"));
  assert.equal(runs.status, 4, runs.out + runs.err);
  assert.match(runs.err, /N2I-E316 nova-compute of H1 reported/);
  assert.equal((await owners())[0], "1 H1 NULL H1");
  assert.equal((await host("host", "move", "--yes")).status, 0);
});

test("status calls taken back what was, whatever the journal's last word is", async (t) => {
  smallBatches(t);
  const cloud = await hostCloud(t, { machines: 6, services: DEAD });
  assert.ok(cloud);
  const { host, nova } = cloud;
  const next = async () => (await host("status")).err;
  assert.equal((await host(...TAKE)).status, 0);
  assert.equal((await host("rollback", "--node", uuidOf("node", 3), "--yes")).status, 0);
  assert.match(await next(), /^Next: nova2ironic verify /m);
  // Between two batches, then before the fence.
  for (const at of ["first", "second"]) {
    const env = { NOVA2IRONIC_FAILPOINT: "undone.after:1:kill" };
    assert.equal(
      (await start(["rollback", "--all", "--yes", ...cloud.at, ...nova], { env }).ended).status,
      128,
    );
    assert.match(await next(), /^Next: nova2ironic rollback .*--all/m, at);
  }
  assert.equal((await host("rollback", "--all", "--yes")).status, 0);
  assert.match(await next(), /taken back/);
  assert.equal((await host(...TAKE)).status, 0);
  assert.equal((await host("host", "readmit", "H1", "--queue-purged", "--yes")).status, 0);
  assert.match(await next(), /^Next: nova2ironic verify /m);
  assert.equal((await host("verify")).status, 0);
});

test("a host that its operator set up again still owes an empty queue", async (t) => {
  const cloud = await hostCloud(t);
  assert.ok(cloud);
  const { host, db } = cloud;
  assert.equal((await host("host", "plan", "--from", "H1", "--to", "H2", ...QUICK)).status, 0);
  assert.equal((await host("host", "move", "--yes")).status, 0);
  await db("services").where({ host: "H1" }).update({ forced_down: false });
  const unseen = await host("verify");
  assert.equal(unseen.status, 2, unseen.err);
  assert.match(unseen.out, /compute\.H1 .*not looked at/);
  assert.doesNotMatch(unseen.out, /services:1/);
  assert.equal((await host("verify", "--queue-purged")).status, 0);
});

test("a takeover to the host that is dead is refused before anybody is watched", async (t) => {
  const cloud = await hostCloud(t);
  assert.ok(cloud);
  const { status, err } = await cloud.host(...TAKE, "--to", "H1");
  assert.equal(status, 64, err);
  assert.match(err, /N2I-E100 --from and --to are both H1/);
  assert.doesNotMatch(err, /Watching/);
});
