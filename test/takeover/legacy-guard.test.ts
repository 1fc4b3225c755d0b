import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AHEAD, ago, serviceOf } from "./cloud.ts";
import { fencedCloud, LEASE, legacyCloud, moveOf } from "./legacy-cloud.ts";
import { does, takes } from "./legacy-does.ts";
import { images, rootOf, THERE } from "./legacy-trees.ts";

test("an instance that is unlocked while its machine is under way is guarded once more", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { nova } = cloud;
  const unlock = () => nova("instances").where({ id: 1 }).update({ locked: false });
  const dies = { point: "legacy.claimed", at: 1, meets: unlock };
  const half = await does(cloud, "one", { ids: [1], dies }).catch((error: unknown) => error);
  assert.match(String(half), /its move is unfinished\. Run the same command again/);
  assert.equal((await cloud.rows()).machines[0], "1 B 1 migrating active | A migrating 0");
  assert.deepEqual(await does(cloud, "one", { ids: [1] }), { done: 1, left: [] });
  assert.equal((await cloud.rows()).machines[0], "1 B 1 active - | B - 0");
});

for (const locked_by of [null, "owner"])
  test(`the lock of a move that was only begun, whose old nova-compute started since, ${locked_by === null ? "is taken away" : "stays where somebody put it on"}`, async (t) => {
    const cloud = await legacyCloud(t, { machines: 1 });
    const before = await cloud.dump();
    const dies = { point: "legacy.guarded", at: 1 };
    await assert.rejects(does(cloud, "one", { ids: [1], dies }), /legacy\.guarded/);
    await cloud.nova("instances").where({ id: 1 }).update({ task_state: null, locked_by });
    const locked = "1 A 0 active - | A - 1";
    assert.equal((await cloud.rows()).machines[0], locked);
    const back = await does(cloud, "one", { back: true });
    if (locked_by !== null) return assert.equal((await cloud.rows()).machines[0], locked);
    assert.deepEqual(back, { done: 1, left: [] });
    assert.equal(await cloud.dump(), before);
  });

test("what Nova or another did meanwhile keeps a machine as it is, and the others go", async (t) => {
  const cloud = await legacyCloud(t, { machines: 3 });
  await cloud.nova("instances").where({ id: 1 }).update({ task_state: "powering-off" });
  await cloud.bm("bm_nodes").where({ id: 2 }).update({ service_epoch: 7 });
  const { done, left } = await does(cloud, "one");
  assert.equal(done, 1);
  assert.match(left.join("\n"), /Nova started powering-off/);
  assert.match(left.join("\n"), /service_epoch 7/);
  const { machines } = await cloud.rows();
  assert.deepEqual(machines.slice(0, 3), [
    ...["1 A 0 active - | A powering-off 0", "2 A 7 - - |", "3 B 1 active - | B - 0"],
  ]);
});

for (const task_state of ["deleting", null])
  test(`a machine whose instance is ${task_state ?? "cleared"} by Nova once it is claimed is half way, and goes on`, async (t) => {
    const cloud = await legacyCloud(t, { machines: 2 });
    const { nova } = cloud;
    const instance = (row: object) => nova("instances").where({ id: 1 }).update(row);
    const ids = [1, 2];
    const dies = { point: "legacy.claimed", at: 1, meets: () => instance({ task_state }) };
    const { done, left } = await does(cloud, "one", { ids, dies });
    assert.equal(done, 1);
    assert.match(left.join("\n"), /its move is unfinished\. Run the same command again/);
    const rows = async () => (await cloud.rows()).machines.slice(0, 2);
    assert.deepEqual(await rows(), [`1 B 1 migrating active | A ${task_state ?? "-"} 1`, THERE[1]]);
    assert.match((await cloud.rows()).computes.join(), /^1 A 01,2 B 02/, "not one row of it");
    await instance({ task_state: null });
    assert.deepEqual(await does(cloud, "one", { ids }), { done: 1, left: [] });
    assert.deepEqual(await rows(), THERE.slice(0, 2));
    assert.deepEqual((await does(cloud, "one", { ids, back: true })).left, []);
    assert.deepEqual(await rows(), ["1 A 2 active - | A - 0", "2 A 2 - - |"]);
  });

test("a compute node that the new host made by itself stays, and the old one's comes back", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const before = await cloud.dump();
  const [row] = await cloud.nova("compute_nodes").where({ id: 1 });
  const made = { ...row, id: 500, service_id: 2 };
  // Between the claim and Nova's rows: B's nova-compute sees the machine as its own.
  const meets = () => cloud.nova("compute_nodes").insert(made);
  await does(cloud, "one", { ids: [1], dies: { point: "legacy.claimed", at: 1, meets } });
  assert.deepEqual((await cloud.rows()).computes, ["90 B 90", "91 C 91", "500 B 01"]);
  assert.deepEqual((await does(cloud, "one", { back: true })).left, []);
  assert.deepEqual((await cloud.rows()).computes, ["1 A 01", "90 B 90", "91 C 91"]);
  await cloud.nova("compute_nodes").where({ id: 500 }).delete();
  assert.equal(await cloud.dump(), before);
});

for (const point of ["legacy.guarded", "legacy.served"])
  test(`a machine with a tenant over which its taker died at ${point} is brought to its end by another`, async (t) => {
    const cloud = await fencedCloud(t, 2);
    const { bm, nova } = cloud;
    // In a deploy: no boot files are wanted of it.
    await bm("bm_nodes").where({ id: 1 }).update({ task_state: "deploying" });
    await nova("instances").where({ id: 1 }).update({ vm_state: "building", task_state: null });
    const dies = { point, at: 1 };
    const died = { ...moveOf(1), before: "deploying", after: "error" };
    const tenant = { ...died.tenant, before: "building", after: "error" } as typeof died.tenant;
    await assert.rejects(does(cloud, "one", { moves: [{ ...died, tenant }], dies }), /legacy\./);
    await nova("services").where({ host: "B" }).update({ updated_at: "2014-06-01 12:00:00" });
    await bm("bm_service_leases").insert({ ...LEASE, host: "B", fenced_by: "C" });
    const from = point === "legacy.guarded" ? "A" : "B";
    const { moved, skipped: left } = await takes(cloud, "two", from, "C", { ids: [1] });
    assert.equal(moved, 1, JSON.stringify(left));
    const [machine] = (await cloud.rows()).machines;
    assert.equal(machine, `1 C ${from === "A" ? 1 : 2} error - | C - 0`);
    assert.equal((await nova("instances").first()).vm_state, "error");
  });

test("a tenant's machine over which its taker died once it claimed it boots by what its old host left", async (t) => {
  const cloud = await fencedCloud(t, 1);
  const { bm, nova, folder } = cloud;
  await bm("bm_nodes").update({ deploy_key: "KEY" });
  const dies = { point: "legacy.claimed", at: 1 };
  await assert.rejects(does(cloud, "one", { ids: [1], dies }), /legacy\./);
  await nova("services").where({ host: "B" }).update({ updated_at: "2014-06-01 12:00:00" });
  await bm("bm_service_leases").insert({ ...LEASE, host: "B", fenced_by: "C" });
  const { boot } = images(cloud, [1]);
  const { moved, skipped: left } = await takes(cloud, "two", "B", "C", { ids: [1], ...boot });
  assert.equal(moved, 1, JSON.stringify(left));
  const [machine] = (await cloud.rows()).machines;
  assert.equal(machine, "1 C 2 active - | C - 0");
  const own = join(folder, "own", String(moveOf(1).tenant?.uuid));
  assert.match(readFileSync(join(own, "config"), "utf8"), new RegExp(rootOf(1)));
  assert.equal(readFileSync(join(own, "kernel"), "utf8"), "kernel of 1\n");
});

test("a taker that died before the claim leaves the machine to its host, if that lives again", async (t) => {
  const cloud = await fencedCloud(t, 2);
  const { bm, nova } = cloud;
  const dies = { point: "legacy.guarded", at: 1 };
  await assert.rejects(does(cloud, "one", { ids: [2], dies }), /legacy\./);
  await serviceOf(nova, "A").update({ updated_at: ago(-AHEAD) });
  const { moved, skipped: left } = await takes(cloud, "one", "A", "B", { ids: [] });
  assert.equal(moved, 0);
  assert.match(JSON.stringify(left), /N2I-D251/);
  assert.equal((await cloud.rows()).machines[1], "2 A 0 - - |");
  await serviceOf(nova, "A").update({ updated_at: "2014-06-01 12:00:00" });
  // Its host wrote it a moment ago.
  await bm("bm_nodes").where({ id: 2 }).update({ service_heartbeat_ms: Date.now() });
  const beaten = await takes(cloud, "one", "A", "B", { ids: [] });
  assert.match(JSON.stringify(beaten.skipped), /belongs to another host now/);
  await bm("bm_nodes").where({ id: 2 }).update({ service_heartbeat_ms: 1 });
  assert.equal((await takes(cloud, "one", "A", "B", { ids: [] })).moved, 1);
  assert.equal((await cloud.rows()).machines[1], "2 B 1 - - |");
});

test("a machine whose host died in a deploy ends in error, with its instance, and comes back so", async (t) => {
  const cloud = await fencedCloud(t, 2);
  const { bm, nova } = cloud;
  await bm("bm_nodes").where({ id: 1 }).update({ task_state: "deploying" });
  const spawning = { vm_state: "building", task_state: "spawning" };
  await nova("instances").where({ id: 1 }).update(spawning);
  const { moved, skipped: told } = await takes(cloud, "one", "A", "B");
  assert.equal(moved, 2);
  assert.match(JSON.stringify(told), /"machine:a0+-0000-4000-8000-0+1".*N2I-D281/);
  assert.equal((await cloud.rows()).machines[0], "1 B 1 error - | B - 0");
  assert.equal((await nova("instances").first()).vm_state, "error");
  const { left } = await does(cloud, "one", { back: true });
  assert.deepEqual(left, []);
  assert.equal((await cloud.rows()).machines[0], "1 A 2 deploying - | A spawning 0");
  assert.equal((await nova("instances").first()).vm_state, "building");
});
