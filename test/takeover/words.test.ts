import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { whileItWaits } from "../lab/bmc/quick-clock.ts";
import { smallBatches } from "../support/batches.ts";
import { runHere } from "../support/in-process.ts";
import {
  DOWN,
  deadCloud,
  forgetLast,
  hostCloud,
  MOVE,
  PLAN,
  QUICK,
  reportH1,
  reportsOn,
  uuidOf,
} from "./cloud.ts";

test("only hosts that machines leave are spoken of, and who serves a machine keeps it", async (t) => {
  const { host, db, owners } = await hostCloud(t);
  await db("compute_nodes").where({ id: 2 }).update({ host: "H3" });
  await db("compute_nodes").where({ id: 4 }).update({ host: "H2" });
  const nodes = [1, 2, 4].flatMap((id) => ["--node", uuidOf("node", id)]);
  const planned = await ends(0, host("host", "plan", ...nodes, "--to", "H2", ...QUICK));
  assert.match(planned.out, /purge_queue compute\.H1/);
  assert.doesNotMatch(planned.out, /purge_queue compute\.H[23]/);
  await db("services").whereNot({ host: "H1" }).increment("report_count", 1);
  const moved = await ends(3, host(...MOVE));
  assert.match(moved.out, /2 rows changed, 0 already done; 1 machine was skipped/);
  assert.doesNotMatch(moved.err, /purge_queue compute\.H[23]/);
  const now = ["1 H2 NULL H2", "2 H3 NULL -", "3 H1 NULL H1", "4 H2 NULL -"];
  assert.deepEqual((await owners()).slice(0, 4), now);
});

test("a report between the watch and the plan is no fence's ground", async (t) => {
  const { at, nova, db, services } = await deadCloud(t);
  await db("instances").where({ id: 1 }).update({ task_state: "rebooting" });
  let told = "";
  const meanwhile = async (): Promise<void> => {
    if (!told.includes("1 instance of H1 with a task")) return;
    await reportH1(db);
    await db("instances").where({ id: 1 }).update({ task_state: null });
  };
  const words = [...DOWN, "--settle", "500", ...at, ...nova];
  const heard = (err: string): void => {
    told = err;
  };
  const takes = () => runHere(words, {}, { heard });
  const ran = await ends(4, whileItWaits(meanwhile, takes));
  assert.match(ran.err, /N2I-E316 nova-compute of H1 reported after it was watched/);
  assert.equal(Boolean((await services())[0]?.forced_down), false);
});

test("a fenced host that reported since the plan is watched before machines leave it", async (t) => {
  const { host, db, owners } = await hostCloud(t);
  const plan = ["host", "plan", "--from", "H1", "--to", "H2", "--service-down-time", "100"];
  await ends(0, host(...plan));
  await reportH1(db);
  const move = () => host(...MOVE);
  const runs = await ends(4, reportsOn(db, move));
  assert.match(runs.err, /Watching H1 for 100 s/);
  assert.match(runs.err, /N2I-E316 nova-compute of H1 reported/);
  assert.equal((await owners())[0], "1 H1 NULL H1");
  await ends(0, move());
});

test("status calls taken back what was, whatever the journal's last word is", async (t) => {
  smallBatches(t);
  const cloud = await deadCloud(t, { machines: 6 });
  const { host, db, at } = cloud;
  const next = async () => (await host("status")).err;
  await ends(0, host(...DOWN));
  await ends(0, host("rollback", "--node", uuidOf("node", 3), "--yes"));
  assert.match(await next(), /^Next: nova2ironic verify /m);
  // The second of its two batches is refused.
  const refuse = "BEGIN SELECT RAISE(ABORT, 'cut'); END";
  await db.raw(`CREATE TRIGGER cut BEFORE UPDATE ON compute_nodes WHEN old.id = 5 ${refuse}`);
  await ends(5, host("rollback", "--all", "--yes"));
  assert.match(forgetLast(at), /"do":"undo"/);
  await db.raw("DROP TRIGGER cut");
  assert.match(await next(), /^Next: nova2ironic rollback .*--all/m);
  await ends(0, host("rollback", "--all", "--yes"));
  assert.match(await next(), /rolled back/);
  await ends(0, host(...DOWN));
  await ends(0, host("host", "readmit", "H1", "--queue-purged", "--yes"));
  assert.match(await next(), /^Next: nova2ironic verify /m);
  await ends(0, host("verify"));
});

test("a host that its operator set up again still owes an empty queue", async (t) => {
  const { host, db } = await hostCloud(t);
  await ends(0, host(...PLAN));
  await ends(0, host(...MOVE));
  await db("services").where({ host: "H1" }).update({ forced_down: false });
  const unseen = await ends(2, host("verify"));
  assert.match(unseen.out, /compute\.H1 .*not checked/);
  assert.doesNotMatch(unseen.out, /services:1/);
  await ends(0, host("verify", "--queue-purged"));
});

test("a takeover to the host that is dead is refused before anybody is watched", async (t) => {
  const cloud = await hostCloud(t);
  const { status, err } = await cloud.host(...DOWN, "--to", "H1");
  assert.equal(status, 64, err);
  assert.match(err, /N2I-E100 --from and --to are both H1/);
  assert.doesNotMatch(err, /Watching/);
});

test("a tenant's change between plan and move keeps that machine, and the others go", async (t) => {
  const { host, owners, db } = await hostCloud(t);
  await ends(0, host(...PLAN));
  await db("instances").where({ id: 1 }).update({ deleted: 1, task_state: null });
  for (const rows of [
    /4 rows changed, 0 already done; 1 machine/,
    /0 rows changed, 4 already done/,
  ]) {
    const moved = await ends(3, host(...MOVE));
    assert.match(moved.err, /machine:a0+-\S+1 was skipped: instances:1 has changed since/);
    assert.match(moved.out, rows);
  }
  const [first, second, third] = await owners();
  assert.deepEqual([first, second, third], ["1 H1 NULL -", "2 H2 NULL -", "3 H2 NULL H2"]);
  // What is planned anew takes the idle machine along.
  await ends(0, host(...PLAN));
  await ends(0, host(...MOVE));
  assert.equal((await owners())[0], "1 H2 NULL -");
});
