import assert from "node:assert/strict";
import { chmodSync, cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MigrationError } from "../../src/lib/error.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { withLegacy } from "../../src/takeover/baremetal/legacy-moves.ts";
import { openIn, takeMachines } from "../../src/takeover/baremetal/legacy-take.ts";
import { movedMachines } from "../../src/takeover/baremetal/steps/legacy-started.ts";
import { ends } from "../hostile/cli.ts";
import { MOVE, QUICK } from "./cloud.ts";
import { fencedCloud, type LegacyCloud, legacyCloud, moveOf } from "./legacy-cloud.ts";
import { does, NOTHING, takes } from "./legacy-does.ts";
import { images, PLAN } from "./legacy-trees.ts";

const NONE = { moved: 0, skipped: [], stopped: false };

/** Its first machine, over which its taker dies. */
async function dies(cloud: LegacyCloud, name: string, point: string): Promise<void> {
  await assert.rejects(does(cloud, name, { ids: [1], dies: { point, at: 1 } }), /legacy\./);
}

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

test("a machine that another host took, or that is gone, is said once, and its run is done with it", async (t) => {
  const cloud = await fencedCloud(t, 1);
  const { bm } = cloud;
  const active = { task_state: "active", prev_task_state: null };
  for (const [name, epoch, row] of [
    ["one", 2, { service_host: "C" }],
    ["two", 4, { service_host: "B" }],
    ["three", 1, { deleted: true }],
  ] as const) {
    const node = (to: object) =>
      bm("bm_nodes")
        .where({ id: 1 })
        .update({ ...active, ...to });
    await node({ service_host: "A", service_epoch: 0 });
    await cloud.nova("instances").update({ host: "A", task_state: null, locked: false });
    await dies(cloud, name, "legacy.claimed");
    await node({ service_epoch: epoch, ...row });
    const said: string[] = [];
    for (let time = 0; time < 2; time += 1) {
      const more = { ids: [], say: (text: string) => said.push(text) };
      const done = await takes(cloud, name, "A", "B", more);
      assert.deepEqual(done, NONE, name);
    }
    assert.equal(said.length, 1, said.join("\n"));
    const closed =
      /^Machines of this run now belong to other hosts, so their moves are closed: a0+-/;
    assert.match(said.join(), closed);
    const { entries } = await readJournal(await cloud.runOf(name));
    assert.deepEqual([openIn(entries), movedMachines(entries)], [[], []]);
  }
});

test("ports are told of once more where the agent died before it could", async (t) => {
  const cloud = await fencedCloud(t, 1);
  await cloud.bm("bm_nodes").update({ deploy_key: "KEY" });
  const more = { ids: [1], ...images(cloud, [1]).boot };
  const broken = (text: string): void => {
    if (text.startsWith("openstack")) throw new Error("died");
  };
  await assert.rejects(takes(cloud, "one", "A", "B", { ...more, say: broken }), /died/);
  assert.equal((await cloud.rows()).machines[0], "1 B 1 active - | B - 0");
  const said: string[] = [];
  await takes(cloud, "one", "A", "B", { ...more, say: (text) => said.push(text) });
  assert.match(said.join("\n"), /^openstack port set --host B .* c0.*-0+1$/m);
  assert.match(said.join("\n"), /^Took 1 machine over to finish interrupted moves\.$/m);
  const again: string[] = [];
  await takes(cloud, "one", "A", "B", { ids: [], say: (text) => again.push(text) });
  assert.deepEqual(again, []);
});

test("who is stopped begins no machine more", async (t) => {
  const cloud = await fencedCloud(t, 2);
  const stopped = new AbortController();
  const why = new MigrationError("N2I-E363", "B was fenced");
  const asked = { from: "A", to: "B", nodes: [moveOf(2).uuid], down: 60, signal: stopped.signal };
  const before = await cloud.dump();
  stopped.abort(why);
  const run = await cloud.runOf("one");
  await cloud.withPlace((place) =>
    assert.rejects(takeMachines(run, place, asked, { report: NOTHING }), why),
  );
  assert.equal(await cloud.dump(), before);
});

test("what came is said though what follows is refused", async (t) => {
  const cloud = await fencedCloud(t, 2);
  await dies(cloud, "one", "legacy.claimed");
  await cloud.bm("bm_service_leases").update({ fenced_by: null });
  const said: string[] = [];
  const say = (text: string): number => said.push(text);
  await assert.rejects(takes(cloud, "one", "A", "B", { ids: [2], say }), /N2I-E316|not fenced/);
  assert.match(said.join("\n"), /Took 1 machine over to finish interrupted moves/);
});

test("an agent sees a compute node that was deleted when it looked, and is not any more", async (t) => {
  const cloud = await fencedCloud(t, 2);
  const { nova } = cloud;
  const { id: _, ...row } = await nova("compute_nodes").where({ id: 2 }).first();
  const gone = { deleted: 500, deleted_at: "2014-06-01 12:00:00" };
  await nova("compute_nodes").insert({ ...row, id: 500, service_id: 2, ...gone });
  await cloud.withPlace(async (opened) => {
    /** Nova's own nova-compute of B brings it back once the machine is its own. */
    const readerOf: typeof opened.readerOf = async (nodes) => {
      const look = await opened.readerOf(nodes);
      return async (moves) => {
        const { service_host } = await cloud.bm("bm_nodes").where({ id: 2 }).first();
        const lives = { deleted: 0, deleted_at: null };
        if (service_host === "B") await nova("compute_nodes").where({ id: 500 }).update(lives);
        return look(moves);
      };
    };
    const place = { ...opened, readerOf };
    const asked = { from: "A", to: "B", nodes: [moveOf(2).uuid], down: 60 };
    const run = await cloud.runOf("one");
    assert.equal((await takeMachines(run, place, asked, { report: NOTHING })).moved, 1);
  });
  const { computes } = await cloud.rows();
  assert.deepEqual(computes, ["1 A 01", "90 B 90", "91 C 91", "500 B 02"]);
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
