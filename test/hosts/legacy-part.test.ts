import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MigrationError } from "../../src/model/error.ts";
import { moveMachines, withLegacy } from "../../src/stages/legacy-moves.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { legacyCloud, moveOf } from "./legacy-cloud.ts";
import { does, once, takes } from "./legacy-does.ts";

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
    const won = ended.filter((one) => one.status === "fulfilled");
    assert.equal(won.length, 1);
    const codes = new Set(
      ended.flatMap((one) =>
        one.status === "rejected" && one.reason instanceof MigrationError ? [one.reason.code] : [],
      ),
    );
    assert.ok(codes.has("N2I-E362"), [...codes].join());
    for (const code of codes) assert.match(code, /N2I-E(362|300)/);
    assert.match((await cloud.rows()).machines[0] ?? "", /^1 [BC] 1 active - \| [BC] - 0$/);
  });

testOnce(
  "what Nova or another did meanwhile keeps a machine as it is, and the others go",
  async (t) => {
    const cloud = await legacyCloud(t, { machines: 3 });
    await cloud.nova("instances").where({ id: 1 }).update({ task_state: "powering-off" });
    await cloud.bm("bm_nodes").where({ id: 2 }).update({ service_epoch: 7 });
    const { done, left } = await does(cloud, "one");
    assert.equal(done, 1);
    assert.match(left.join("\n"), /Nova began powering-off/);
    assert.match(left.join("\n"), /service_epoch 7/);
    const { machines } = await cloud.rows();
    assert.deepEqual(machines.slice(0, 3), [
      "1 A 0 active - | A powering-off 0",
      "2 A 7 - - |",
      "3 B 1 active - | B - 0",
    ]);
  },
);

for (const task_state of ["deleting", null])
  test(`a machine whose instance is ${task_state ?? "cleared"} by Nova once it is claimed is half way, and goes on`, async (t) => {
    const cloud = await legacyCloud(t, { machines: 2 });
    const { nova } = cloud;
    const instance = (row: object) => nova("instances").where({ id: 1 }).update(row);
    const ids = [1, 2];
    const dies = { point: "legacy.claimed", at: 1, meets: () => instance({ task_state }) };
    const { done, left } = await does(cloud, "one", { ids, dies });
    assert.equal(done, 1);
    assert.match(left.join("\n"), /half way; run the same command again/);
    const rows = async () => (await cloud.rows()).machines.slice(0, 2);
    assert.deepEqual(await rows(), [`1 B 1 migrating active | A ${task_state ?? "-"} 1`, THERE[1]]);
    assert.match((await cloud.rows()).computes.join(), /^1 A 01,2 B 02/, "not one row of it");
    await instance({ task_state: null });
    assert.deepEqual(await does(cloud, "one", { ids }), { done: 1, left: [] });
    assert.deepEqual(await rows(), THERE.slice(0, 2));
    assert.deepEqual((await does(cloud, "one", { ids, back: true })).left, []);
    assert.deepEqual(await rows(), BACK.slice(0, 2));
  });

testOnce(
  "a compute node that the new host made by itself stays, and the old one's comes back",
  async (t) => {
    const cloud = await legacyCloud(t, { machines: 1 });
    const before = await cloud.dump();
    const [row] = await cloud.nova("compute_nodes").where({ id: 1 });
    const made = { ...row, id: 500, service_id: 2 };
    await cloud.withPlace(async (place) =>
      withLegacy(await cloud.runOf("one"), place, [], { hosts: ["A", "B"] }, async (legacy) => {
        const { hands } = legacy;
        // Between the claim and Nova's rows: B's nova-compute sees the machine as its own.
        const claim: typeof hands.claim = async (...seen) => {
          const epoch = await hands.claim(...seen);
          await cloud.nova("compute_nodes").insert(made);
          return epoch;
        };
        const own = { ...legacy, hands: { ...hands, claim } };
        const nothing = () => Promise.resolve();
        await moveMachines(
          own,
          () => once([moveOf(1)]),
          nothing,
          () => undefined,
        );
      }),
    );
    assert.deepEqual((await cloud.rows()).computes, ["90 B 90", "91 C 91", "500 B 01"]);
    assert.deepEqual((await does(cloud, "one", { back: true })).left, []);
    assert.deepEqual((await cloud.rows()).computes, ["1 A 01", "90 B 90", "91 C 91"]);
    await cloud.nova("compute_nodes").where({ id: 500 }).delete();
    assert.equal(await cloud.dump(), before);
  },
);

for (const engine of engines())
  test(`on ${engine}, a fenced host's machines are taken, and what another died over is brought to its end`, async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 4 });
    const { bm, nova } = cloud;
    await bm("bm_nodes").whereIn("id", [1, 3]).update({ instance_uuid: null, task_state: null });
    await nova("instances").update({ deleted: 99 });
    const lease = { host: "A", epoch: 1, heartbeat_ms: 1, ttl_ms: 60_000 };
    await bm("bm_service_leases").insert(lease);
    await assert.rejects(takes(cloud, "one", "A", "B"), /the lease of A is not fenced/);
    await bm("bm_service_leases").update({ fenced_by: "B", epoch: 2 });
    assert.deepEqual(await takes(cloud, "one", "A", "B"), { moved: 2, left: [], stopped: false });
    const rows = async () => (await cloud.rows()).machines.slice(0, 4);
    assert.deepEqual(await rows(), ["1 B 1 - - |", "2 B 1 - - |", "3 A 0 - - |", "4 A 0 - - |"]);
    // B dies over the fourth; C takes over what B had.
    const dies = { point: "legacy.claimed", at: 1 };
    await assert.rejects(does(cloud, "two", { ids: [4], dies }), /legacy/);
    assert.equal((await rows())[3], "4 B 1 migrating - |");
    await nova("services").where({ host: "B" }).update({ updated_at: "2014-06-01 12:00:00" });
    await bm("bm_service_leases").insert({ ...lease, host: "B", fenced_by: "C" });
    const taken = await takes(cloud, "three", "B", "C", { ids: [1, 2, 4] });
    assert.deepEqual(taken, { moved: 3, left: [], stopped: false });
    assert.deepEqual(await rows(), ["1 C 2 - - |", "2 C 2 - - |", "3 A 0 - - |", "4 C 2 - - |"]);
  });

for (const point of ["legacy.guarded", "legacy.served"])
  test(`a machine with a tenant over which its taker died at ${point} is brought to its end by another`, async (t) => {
    const cloud = await legacyCloud(t, { machines: 2 });
    const { bm, nova } = cloud;
    const lease = { epoch: 2, heartbeat_ms: 1, ttl_ms: 60_000 };
    await bm("bm_service_leases").insert({ host: "A", fenced_by: "B", ...lease });
    // In a deploy: no boot files are wanted of it.
    await bm("bm_nodes").where({ id: 1 }).update({ task_state: "deploying" });
    await nova("instances").where({ id: 1 }).update({ vm_state: "building", task_state: null });
    const dies = { point, at: 1 };
    const died = { ...moveOf(1), before: "deploying", after: "error" };
    const tenant = { ...died.tenant, before: "building", after: "error" } as typeof died.tenant;
    await assert.rejects(does(cloud, "one", { moves: [{ ...died, tenant }], dies }), /legacy\./);
    await nova("services").where({ host: "B" }).update({ updated_at: "2014-06-01 12:00:00" });
    await bm("bm_service_leases").insert({ host: "B", fenced_by: "C", ...lease });
    const from = point === "legacy.guarded" ? "A" : "B";
    const { moved, left } = await takes(cloud, "two", from, "C", { ids: [1] });
    assert.equal(moved, 1, JSON.stringify(left));
    const [machine] = (await cloud.rows()).machines;
    assert.equal(machine, `1 C ${from === "A" ? 1 : 2} error - | C - 0`);
    assert.equal((await nova("instances").first()).vm_state, "error");
  });

test("a tenant's machine over which its taker died once it claimed it boots by what its old host left", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { bm, nova, folder } = cloud;
  const instance = String(moveOf(1).tenant?.uuid);
  const [own, old] = [join(folder, "own"), join(folder, "old")];
  mkdirSync(own);
  mkdirSync(join(old, instance), { recursive: true });
  for (const image of ["kernel", "ramdisk", "deploy_kernel", "deploy_ramdisk"])
    writeFileSync(join(old, instance, image), image);
  await bm("bm_nodes").update({ deploy_key: "KEY" });
  const lease = { epoch: 2, heartbeat_ms: 1, ttl_ms: 60_000 };
  await bm("bm_service_leases").insert({ host: "A", fenced_by: "B", ...lease });
  await assert.rejects(
    does(cloud, "one", { ids: [1], dies: { point: "legacy.claimed", at: 1 } }),
    /legacy\./,
  );
  await nova("services").where({ host: "B" }).update({ updated_at: "2014-06-01 12:00:00" });
  await bm("bm_service_leases").insert({ host: "B", fenced_by: "C", ...lease });
  const root = "6f0ed4a2-2f3a-4b8e-9d58-000000000001";
  const roots = [`${moveOf(1).uuid}=${root}`];
  const more = { tftpRoot: own, tftpFrom: [`A=${old}`], rootUuid: roots };
  const { moved, left } = await takes(cloud, "two", "B", "C", { ids: [1], ...more });
  assert.equal(moved, 1, JSON.stringify(left));
  const [machine] = (await cloud.rows()).machines;
  assert.equal(machine, "1 C 2 active - | C - 0");
  assert.match(readFileSync(join(own, instance, "config"), "utf8"), new RegExp(root));
  assert.equal(readFileSync(join(own, instance, "kernel"), "utf8"), "kernel");
});

testOnce(
  "a taker that died before the claim leaves the machine to its host, if that lives again",
  async (t) => {
    const cloud = await legacyCloud(t, { machines: 2 });
    const { bm, nova } = cloud;
    const lease = { epoch: 2, heartbeat_ms: 1, ttl_ms: 60_000 };
    await bm("bm_service_leases").insert({ host: "A", fenced_by: "B", ...lease });
    const dies = { point: "legacy.guarded", at: 1 };
    await assert.rejects(does(cloud, "one", { ids: [2], dies }), /legacy\./);
    const reports = (updated_at: string) =>
      nova("services").where({ host: "A" }).update({ updated_at });
    await reports(new Date(Date.now() + 3600_000).toISOString().slice(0, 19).replace("T", " "));
    const { moved, left } = await takes(cloud, "one", "A", "B", { ids: [] });
    assert.equal(moved, 0);
    assert.match(JSON.stringify(left), /N2I-D251/);
    assert.equal((await cloud.rows()).machines[1], "2 A 0 - - |");
    await reports("2014-06-01 12:00:00");
    await bm("bm_nodes").where({ id: 2 }).update({ service_heartbeat_ms: Date.now() });
    const beaten = await takes(cloud, "one", "A", "B", { ids: [] });
    assert.match(JSON.stringify(beaten.left), /another's by now/, "its host wrote it a moment ago");
    await bm("bm_nodes").where({ id: 2 }).update({ service_heartbeat_ms: 1 });
    assert.equal((await takes(cloud, "one", "A", "B", { ids: [] })).moved, 1);
    assert.equal((await cloud.rows()).machines[1], "2 B 1 - - |");
  },
);

testOnce(
  "a machine whose host died in a deploy ends in error, with its instance, and comes back so",
  async (t) => {
    const cloud = await legacyCloud(t, { machines: 2 });
    const { bm, nova } = cloud;
    await bm("bm_nodes").where({ id: 1 }).update({ task_state: "deploying" });
    const spawning = { vm_state: "building", task_state: "spawning" };
    await nova("instances").where({ id: 1 }).update(spawning);
    const lease = { host: "A", epoch: 2, heartbeat_ms: 1, ttl_ms: 60_000, fenced_by: "B" };
    await bm("bm_service_leases").insert(lease);
    const { moved, left: told } = await takes(cloud, "one", "A", "B");
    assert.equal(moved, 2);
    assert.match(JSON.stringify(told), /"machine:a0+-0000-4000-8000-0+1".*N2I-D281/);
    assert.equal((await cloud.rows()).machines[0], "1 B 1 error - | B - 0");
    assert.equal((await nova("instances").first()).vm_state, "error");
    const { left } = await does(cloud, "one", { back: true });
    assert.deepEqual(left, []);
    assert.equal((await cloud.rows()).machines[0], "1 A 2 deploying - | A spawning 0");
    assert.equal((await nova("instances").first()).vm_state, "building");
  },
);
