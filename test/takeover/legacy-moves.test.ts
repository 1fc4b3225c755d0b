import assert from "node:assert/strict";
import { MigrationError } from "../../src/lib/error.ts";
import { liftFence } from "../../src/takeover/leases/leases.ts";
import { engines, test } from "../lab/engines.ts";
import { LEASE, legacyCloud } from "./legacy-cloud.ts";
import { does, takes } from "./legacy-does.ts";

const HERE = ["1 A 0 active - | A - 0", "2 A 0 - - |", "3 A 0 active - | A - 0"];
const THERE = ["1 B 1 active - | B - 0", "2 B 1 - - |", "3 B 1 active - | B - 0"];
const BACK = ["1 A 2 active - | A - 0", "2 A 2 - - |", "3 A 2 active - | A - 0"];
const OTHERS = ["90 B 0 - - |", "91 C 0 - - |"];

/** Where a process may die: between two steps of a machine. */
const POINTS = ["legacy.guarded", "legacy.claimed", "legacy.served", "legacy.released"];

for (const engine of engines())
  test(`on ${engine}, machines of nova-baremetal go to another host whole, and come back with a greater epoch`, async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 3 });
    const before = await cloud.dump();
    assert.deepEqual((await cloud.rows()).machines, [...HERE, ...OTHERS]);
    assert.deepEqual(await does(cloud, "one"), { done: 3, left: [] });
    const { machines, computes } = await cloud.rows();
    assert.deepEqual(machines, [...THERE, ...OTHERS]);
    assert.deepEqual(computes, ["1 B 01", "2 B 02", "3 B 03", "90 B 90", "91 C 91"]);
    assert.equal((await does(cloud, "one")).done, 0, "a second time nothing is written");
    assert.deepEqual(await does(cloud, "one", { back: true }), { done: 3, left: [] });
    assert.deepEqual((await cloud.rows()).machines, [...BACK, ...OTHERS]);
    assert.equal(await cloud.dump(), before);
    const again = await does(cloud, "two").catch((error: unknown) => error);
    assert.ok(again instanceof MigrationError && again.code === "N2I-E300", String(again));
    assert.match(again.message, /service_epoch 2/, "a plan of before the way back is stale");
  });

for (const engine of engines())
  test(`on ${engine}, a move that dies between any two steps goes on by the same run, or back`, async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 3 });
    const before = await cloud.dump();
    let epoch = 0;
    const ids = [1, 2, 3];
    const restart = async (): Promise<void> => {
      epoch += 2;
      assert.equal(await cloud.dump(), before);
      await cloud.bm("bm_nodes").whereIn("id", ids).update({ service_epoch: 0 });
    };
    // Where a process may die does not depend on the engine; a server tries the place between its two databases.
    const points = engine === "sqlite" ? POINTS : POINTS.slice(1, 2);
    for (const [index, point] of points.entries()) {
      const at = 1 + (index % 2);
      const dies = { point, at };
      // Going on meets the same place on the way back.
      for (const way of ["on", "back"]) {
        const name = `${way}-${point}-${at}`;
        await assert.rejects(does(cloud, name, { dies }), /legacy\./);
        if (way === "on") {
          const { left } = await does(cloud, name);
          assert.deepEqual(left, [], name);
          assert.deepEqual((await cloud.rows()).machines, [...THERE, ...OTHERS], name);
          await assert.rejects(does(cloud, name, { back: true, dies }), /legacy\./);
        }
        assert.deepEqual((await does(cloud, name, { back: true })).left, [], name);
        await restart();
      }
    }
    assert.equal(epoch, points.length * 2 * 2);
  });

for (const engine of engines())
  test(`A-8: on ${engine}, of many runs that move one machine one wins, and the others find it locked or gone`, async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 1 });
    const runs = Array.from({ length: engine === "sqlite" ? 6 : 12 }, (_, at) => at);
    const ended = await Promise.allSettled(
      runs.map((at) => does(cloud, `run-${at}`, { ids: [1], to: at % 2 === 0 ? "B" : "C" })),
    );
    // A run that begins after the winner has ended may find the machine where it wants it.
    const made = ended.flatMap((one) => (one.status === "fulfilled" ? [one.value.done] : []));
    const moved = made.filter((count) => count !== 0);
    assert.deepEqual(moved, [1]);
    for (const one of ended)
      if (one.status === "rejected") {
        assert.ok(one.reason instanceof MigrationError, String(one.reason));
        assert.match(one.reason.code, /^N2I-E(362|300)$/);
      }
    assert.match((await cloud.rows()).machines[0] ?? "", /^1 [BC] 1 active - \| [BC] - 0$/);
  });

for (const engine of engines())
  test(`on ${engine}, a fenced host's machines are taken, and what another died over is brought to its end`, async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 4 });
    const { bm, nova } = cloud;
    await bm("bm_nodes").whereIn("id", [1, 3]).update({ instance_uuid: null, task_state: null });
    await nova("instances").update({ deleted: 99 });
    await bm("bm_service_leases").insert(LEASE);
    await assert.rejects(takes(cloud, "one", "A", "B"), /the lease of A is not fenced/);
    await bm("bm_service_leases").update({ fenced_by: "B" });
    assert.deepEqual(await takes(cloud, "one", "A", "B"), {
      moved: 2,
      skipped: [],
      stopped: false,
    });
    const rows = async () => (await cloud.rows()).machines.slice(0, 4);
    assert.deepEqual(await rows(), ["1 B 1 - - |", "2 B 1 - - |", "3 A 0 - - |", "4 A 0 - - |"]);
    // B dies over the fourth; C takes over what B had.
    const dies = { point: "legacy.claimed", at: 1 };
    await assert.rejects(does(cloud, "two", { ids: [4], dies }), /legacy/);
    assert.equal((await rows())[3], "4 B 1 migrating - |");
    await nova("services").where({ host: "B" }).update({ updated_at: "2014-06-01 12:00:00" });
    await bm("bm_service_leases").insert({ ...LEASE, host: "B", fenced_by: "C" });
    const taken = await takes(cloud, "three", "B", "C", { ids: [1, 2, 4] });
    assert.deepEqual(taken, { moved: 3, skipped: [], stopped: false });
    assert.deepEqual(await rows(), ["1 C 2 - - |", "2 C 2 - - |", "3 A 0 - - |", "4 C 2 - - |"]);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a fence is lifted once, and only as it was seen`, async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 1 });
    const { bm } = cloud;
    const lease = { ...LEASE, fenced_by: "B" };
    await bm("bm_service_leases").insert(lease);
    await cloud.withPlace(async ({ leases }) => {
      assert.equal(await liftFence(leases, { host: "A", epoch: 1 }), false);
      assert.equal(await liftFence(leases, lease), true);
      assert.equal(await liftFence(leases, lease), false);
    });
    const row = await bm("bm_service_leases").first();
    assert.deepEqual([row.fenced_by, Number(row.epoch)], [null, 2]);
  });
