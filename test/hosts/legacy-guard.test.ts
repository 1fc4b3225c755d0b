import assert from "node:assert/strict";
import { test } from "node:test";
import { legacyCloud } from "./legacy-cloud.ts";
import { does } from "./legacy-does.ts";

test("an instance that is unlocked while its machine is under way is guarded once more", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { nova } = cloud;
  const unlock = () => nova("instances").where({ id: 1 }).update({ locked: false });
  const dies = { point: "legacy.claimed", at: 1, meets: unlock };
  const half = await does(cloud, "one", { ids: [1], dies }).catch((error: unknown) => error);
  assert.match(String(half), /half way; run the same command again/);
  assert.equal((await cloud.rows()).machines[0], "1 B 1 migrating active | A migrating 0");
  assert.deepEqual(await does(cloud, "one", { ids: [1] }), { done: 1, left: [] });
  assert.equal((await cloud.rows()).machines[0], "1 B 1 active - | B - 0");
});

test("the lock of a move that was only begun is taken away though the old nova-compute started since", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { nova } = cloud;
  const before = await cloud.dump();
  const dies = { point: "legacy.guarded", at: 1 };
  await assert.rejects(does(cloud, "one", { ids: [1], dies }), /legacy\.guarded/);
  await nova("instances").where({ id: 1 }).update({ task_state: null });
  assert.equal((await cloud.rows()).machines[0], "1 A 0 active - | A - 1");
  assert.deepEqual(await does(cloud, "one", { back: true }), { done: 1, left: [] });
  assert.equal(await cloud.dump(), before);
});

test("a lock that somebody put on such an instance since stays", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { nova } = cloud;
  const dies = { point: "legacy.guarded", at: 1 };
  await assert.rejects(does(cloud, "one", { ids: [1], dies }), /legacy\.guarded/);
  await nova("instances").where({ id: 1 }).update({ task_state: null, locked_by: "owner" });
  await does(cloud, "one", { back: true });
  assert.equal((await cloud.rows()).machines[0], "1 A 0 active - | A - 1");
});
