import assert from "node:assert/strict";
import { chmodSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withLegacy } from "../../src/takeover/baremetal/legacy-moves.ts";
import { ends } from "../hostile/cli.ts";
import { MOVE, QUICK } from "./cloud.ts";
import { fencedCloud, type LegacyCloud, legacyCloud, moveOf } from "./legacy-cloud.ts";
import { dies, does, takes } from "./legacy-does.ts";
import { images, PLAN } from "./legacy-trees.ts";

const NONE = { moved: 0, skipped: [], stopped: false };

/** Its first machine, in a deploy of which it is the host that dies, and its taker over it. */
async function diesInDeploy(cloud: LegacyCloud): Promise<string> {
  const { bm, nova } = cloud;
  await bm("bm_nodes").where({ id: 1 }).update({ task_state: "building" });
  await nova("instances").update({ vm_state: "building", task_state: "spawning" });
  const before = await cloud.dump();
  const [move, ends] = [moveOf(1), { before: "building", after: "error" }];
  assert.ok(move.tenant);
  const tenant = { ...move.tenant, ...ends, task_state: "spawning" };
  const death = { moves: [{ ...move, ...ends, tenant }], dies: { point: "legacy.guarded", at: 1 } };
  await assert.rejects(does(cloud, "one", death), /legacy\.guarded/);
  assert.equal((await cloud.rows()).machines[0], "1 A 0 building - | A migrating 1");
  await bm("bm_service_leases").update({ fenced_by: null });
  return before;
}

for (const back of [false, true])
  test(`a lock that a person takes while a machine is on its way ${back ? "back" : "there"} stays his`, async (t) => {
    const cloud = await legacyCloud(t, { machines: 1 });
    const { nova } = cloud;
    if (back) await does(cloud, "one", { ids: [1] });
    const meets = () => nova("instances").update({ locked: true, locked_by: "admin" });
    const dies = { point: "legacy.claimed", at: 1, meets };
    assert.equal((await does(cloud, "one", { ids: [1], back, dies })).done, 1);
    const row = back ? "1 A 2 active - | A - 1" : "1 B 1 active - | B - 1";
    assert.equal((await cloud.rows()).machines[0], row);
    assert.equal((await nova("instances").first()).locked_by, "admin");
  });

test("a lock that its owner takes away while a machine is on its way does not come back", async (t) => {
  const cloud = await legacyCloud(t, { machines: 1 });
  const { nova } = cloud;
  await nova("instances").update({ locked: true, locked_by: "owner" });
  const { tenant = null, ...move } = moveOf(1);
  assert.ok(tenant);
  const moves = [{ ...move, tenant: { ...tenant, locked: true } }];
  const meets = () => nova("instances").update({ locked: false, locked_by: null });
  const dies = { point: "legacy.claimed", at: 1, meets };
  const half = await does(cloud, "one", { moves, dies }).catch((error: unknown) => error);
  assert.match(String(half), /its move is unfinished\. Run the same command again/);
  assert.equal((await does(cloud, "one", { moves })).done, 1);
  assert.equal((await cloud.rows()).machines[0], "1 B 1 active - | B - 0");
});

test("a folder of the same inode on another disk, or made at another time, is another owner", async (t) => {
  const { bm, withPlace, runOf, folder } = await legacyCloud(t, { machines: 1 });
  const lock = () => bm("bm_locks").first();
  for (const note of [{ folder: "x" }, { born: "7" }]) {
    const owner = async (): Promise<string> => {
      const run = await runOf("one");
      return (await withPlace((at) => withLegacy(run, at, [], { hosts: ["A"] }, lock))).owner;
    };
    const first = await owner();
    assert.equal(await owner(), first);
    const file = join(folder, "runs", "one", "owner.json");
    const said = JSON.parse(readFileSync(file, "utf8"));
    assert.match(said.folder, / \d+ \d+$/);
    writeFileSync(file, JSON.stringify({ ...said, ...note }));
    assert.notEqual(await owner(), first);
  }
});

test("who takes a machine takes the lock away of one who died, also where the old nova-compute started since", async (t) => {
  const cloud = await fencedCloud(t, 1);
  const { bm, nova } = cloud;
  await bm("bm_nodes").update({ deploy_key: "KEY" });
  await dies(cloud, "one", "legacy.guarded");
  await nova("instances").update({ task_state: null });
  assert.equal((await cloud.rows()).machines[0], "1 A 0 active - | A - 1");
  const said: string[] = [];
  const more = { ids: [1], ...images(cloud, [1]).boot, say: (text: string) => said.push(text) };
  const { moved, skipped: left } = await takes(cloud, "two", "A", "C", more);
  assert.equal(moved, 1, JSON.stringify(left));
  assert.match(said.join("\n"), /^machine:a0+-\S+: N2I-D290 instance b0+-.*locked_by is NULL\.$/m);
  assert.equal((await cloud.rows()).machines[0], "1 C 1 active - | C - 0");
});

test("a lock that a person put on an instance goes along, and one of nobody is told", async (t) => {
  const cloud = await fencedCloud(t, 1);
  const { bm, nova, host } = cloud;
  await bm("bm_nodes").update({ deploy_key: "KEY" });
  await bm("bm_service_leases").delete();
  const plan = [...PLAN, ...images(cloud, [1]).words];
  await nova("instances").update({ locked: true });
  assert.match((await host(...plan, "-f", "json")).out, /N2I-D290/);
  await nova("instances").update({ locked_by: "admin" });
  assert.doesNotMatch((await host(...plan, "-f", "json")).out, /N2I-D290/);
  await ends(0, host(...MOVE));
  assert.equal((await cloud.rows()).machines[0], "1 B 1 active - | B - 1");
});

test("a machine that was guarded and not claimed is let go once its host has its lease again", async (t) => {
  const cloud = await fencedCloud(t, 1);
  const { bm, nova } = cloud;
  const before = await cloud.dump();
  await dies(cloud, "one", "legacy.guarded");
  await bm("bm_service_leases").update({ fenced_by: null });
  await nova("instances").update({ task_state: "powering-off" });
  const busy = await takes(cloud, "one", "A", "B", { ids: [] });
  assert.match(JSON.stringify(busy.skipped), /Nova started powering-off/);
  assert.equal((await cloud.rows()).machines[0], "1 A 0 active - | A powering-off 1");
  await nova("instances").update({ task_state: null });
  assert.deepEqual(await takes(cloud, "one", "A", "B", { ids: [] }), NONE);
  await bm("bm_service_leases").update({ fenced_by: "B" });
  assert.equal(await cloud.dump(), before);
});

test("an instance of a deploy that was guarded and not claimed is let go as Nova has it", async (t) => {
  const cloud = await fencedCloud(t, 1);
  const before = await diesInDeploy(cloud);
  await takes(cloud, "one", "A", "B", { ids: [] });
  await cloud.bm("bm_service_leases").update({ fenced_by: "B" });
  assert.equal(await cloud.dump(), before);

  // Its host gave the deploy up as it started.
  const other = await fencedCloud(t, 1);
  await diesInDeploy(other);
  await other.nova("instances").update({ vm_state: "error", task_state: null });
  await takes(other, "one", "A", "B", { ids: [] });
  assert.equal((await other.rows()).machines[0], "1 A 0 building - | A - 0");
  assert.equal((await other.nova("instances").first()).vm_state, "error");
});

test("a copy of a run is another owner than the run, and a run that was moved is the same", async (t) => {
  const { bm, folder, withPlace, runOf } = await fencedCloud(t, 1);
  const at = (name: string): string => join(folder, "runs", name);
  const locks = (name: string) =>
    withPlace(async (place) =>
      withLegacy(await runOf(name), place, [], { hosts: ["A"] }, () => bm("bm_locks").first()),
    );
  const { owner } = await locks("one");
  cpSync(at("one"), at("two"), { recursive: true });
  // Node 24's cp forgets it.
  chmodSync(at("two"), 0o700);
  renameSync(at("one"), at("three"));
  const died = { owner, expires_ms: Date.now() + 1e9 };
  await bm("bm_locks").update(died);
  await assert.rejects(locks("two"), /N2I-E362|the lock host:A is .* more/);
  assert.equal((await locks("three")).owner, owner);
  await bm("bm_locks").update({ owner: null });
  // As it is told to work in the one that is left.
  rmSync(join(at("two"), "run.place"));
  const other = (await locks("two")).owner;
  assert.notEqual(other, owner);
  assert.equal((await locks("two")).owner, other, "it is its own from then on");
});

test("verify says whose lock a machine has that is not at its end", async (t) => {
  const { bm, host } = await legacyCloud(t, { machines: 2 });
  await host("host", "plan", "--node", moveOf(2).uuid, "--to", "B", ...QUICK);
  await bm("bm_locks").insert({
    ...{ resource: `node:${moveOf(2).uuid}`, owner: "X", nonce: "n" },
    expires_ms: Date.now() + 1e9,
  });
  assert.match((await host("verify")).out, /its lock is X, \d+ s/);
});
