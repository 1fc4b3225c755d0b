import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { besideNova } from "../../../src/migrate/hosts/nova-side.ts";
import { inRun, openPlan } from "../../../src/run/run.ts";
import { withSession } from "../../../src/run/session.ts";
import { ends } from "../../hostile/cli.ts";
import { type PlannedCloud, plannedCloud } from "./planned.ts";
import { changes, differences, rowsOf } from "./rows.ts";

/** Changes Nova's rows as a load does that left machines out: their BMC said otherwise, or a conductor refused them. */
async function applyWithout(made: PlannedCloud, machines: readonly number[]): Promise<void> {
  const { run: folder, novaWriter } = made;
  const leaving = new Map(machines.map((id) => [caseUuid("node", id), "left out"]));
  const words = { novaDb: novaWriter[1] ?? "", leaveNova: false, confirm: () => Promise.resolve() };
  const watching = { seconds: 0, allowed: false, tell: () => undefined };
  await inRun(folder, "apply", { kind: "migration" }, async (run) => {
    const { footer, lines } = await openPlan(`${folder}/plan`);
    await withSession(run, (session) =>
      besideNova(run, session, footer, { ...words, watching, lines }, async (side) => {
        assert.ok(side);
        await side.check();
        await side.flavors();
        await side.hosts(leaving);
      }),
    );
  });
}

test("a service keeps running for a machine that was left out, and is disabled once that one moved", async (t) => {
  const cloud = await plannedCloud("sqlite", t);
  await applyWithout(cloud, [1]);
  const half = differences(cloud.before.nova, await rowsOf(cloud.nova));
  assert.deepEqual(half.get("services:2"), ["disabled", "disabled_reason"]);
  assert.equal(half.get("services:1"), undefined);
  const { status, out, err } = await cloud.act(["apply"]);
  assert.equal(status, 0, err);
  assert.match(out, /hosts: 3 rows changed, \d+ so already, 0 left/);
  await ends(0, cloud.act(["rollback", "--all"]));
  await cloud.isAsBefore();
});

test("a row of a machine that was left out is nobody's work of ours, whatever became of it", async (t) => {
  const cloud = await plannedCloud("sqlite", t);
  const { nova, before } = cloud;
  await applyWithout(cloud, [1]);
  const theirs = { instances: 1, compute_nodes: 1 } as const;
  // As the operator would write it by hand.
  await nova.db("instances").where({ id: theirs.instances }).update({ host: "ironic-compute" });
  const ran = await ends(2, cloud.act(["rollback", "--all"]));
  assert.match(ran.out, /aggregate_hosts:1\/ironic-compute .*1 live instances name ironic-compute/);
  assert.deepEqual(changes(before.nova, await rowsOf(nova)), {
    "instances host": 1,
    "aggregate_hosts new": 1,
  });
  await nova.db("instances").where({ id: theirs.instances }).update({ host: "compute-1" });
  await ends(0, cloud.act(["rollback", "--all"]));
  await cloud.isAsBefore();
});

test("a machine taken back alone takes no service and no aggregate back, which the others need", async (t) => {
  const cloud = await plannedCloud("sqlite", t);
  await ends(0, cloud.act(["apply"]));
  const one = await ends(0, cloud.act(["rollback", "--node", "1"]));
  assert.match(one.out, /hosts: 2 rows restored, .*; 3 that machines share stay until --all/);
  const after = differences(cloud.before.nova, await rowsOf(cloud.nova));
  for (const row of ["instances:1", "compute_nodes:1"]) assert.equal(after.get(row), undefined);
  for (const row of ["services:1", "services:2", "instances:2", "compute_nodes:2"])
    assert.ok(after.has(row), row);
  assert.equal([...after.keys()].filter((id) => id.startsWith("aggregate_hosts")).length, 1);
  await ends(0, cloud.act(["rollback", "--all"]));
  await cloud.isAsBefore();
});
