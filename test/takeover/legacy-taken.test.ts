import assert from "node:assert/strict";
import { chmodSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MigrationError } from "../../src/lib/error.ts";
import type { Entry } from "../../src/model/journal.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { hasLifted } from "../../src/takeover/baremetal/legacy-fence.ts";
import { withLegacy } from "../../src/takeover/baremetal/legacy-moves.ts";
import { takeMachines } from "../../src/takeover/baremetal/legacy-take.ts";
import { LEGACY, movedMachines } from "../../src/takeover/baremetal/steps/legacy-started.ts";
import { ends, runs } from "../hostile/cli.ts";
import { commands, expected, page } from "../support/manual.ts";
import { deadCloud, MOVE, QUICK } from "./cloud.ts";
import { fencedCloud, LEASE, type LegacyCloud, legacyCloud, moveOf } from "./legacy-cloud.ts";
import { does, NOTHING, takes } from "./legacy-does.ts";
import { images, PLAN } from "./legacy-trees.ts";

test("the commands of the page of a dead host are run as they stand", async (t) => {
  const cloud = await deadCloud(t);
  const [nova, run] = [cloud.nova[1] ?? "", cloud.at[1] ?? ""];
  const here = (word: string) =>
    word.replace(/^file:\/root\/nova\.url$/, nova).replace(/^h1$/, run);
  let told = "";
  for (const words of commands(page("dead-host"))) {
    // Nobody waits a minute for a host that is dead for ten.
    const quick = words[1] === "takeover" ? QUICK : [];
    const { out, err } = await runs(0, [...words.map(here), ...quick], { bare: true });
    told += out + err;
  }
  for (const line of expected("dead-host")) assert.ok(told.includes(line), line);
  assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
});

test("verify of a run whose machine another host took says nothing against it, and says where its rows differ", async (t) => {
  const cloud = await fencedCloud(t, 2);
  const { bm, nova, host, places } = cloud;
  const verify = () => host("verify", ...places.slice(0, 2), "--queue-purged");
  await bm("bm_nodes").update({ service_heartbeat_ms: Date.now() + 50_000 });
  assert.equal((await takes(cloud, "h1", "A", "B", { ids: [2] })).moved, 0);
  assert.match((await verify()).out, /bm_nodes:2 .*service_host is A, expected B/);
  await bm("bm_nodes").where({ id: 2 }).update({ service_host: "C", service_epoch: 2 });
  const said: string[] = [];
  await takes(cloud, "h1", "A", "B", { ids: [], say: (text) => said.push(text) });
  assert.match(said.join(), /^Machines of this run now belong to other hosts/);
  const split = await verify();
  assert.doesNotMatch(split.out, /bm_nodes:2|expected B/);
  assert.match(split.out, /compute_nodes:2 .*host is A, expected C/, split.err);
  await nova("compute_nodes").where({ id: 2 }).update({ service_id: 3 });
  await ends(0, verify());
});

test("an agent that is fenced between guard and claim claims nothing, and takes its guard away", async (t) => {
  const cloud = await fencedCloud(t, 1);
  const { bm } = cloud;
  const before = (await cloud.rows()).machines[0];
  const meets = () => bm("bm_service_leases").insert({ ...LEASE, host: "B", fenced_by: "C" });
  const dies = { point: "legacy.guarded", at: 1, meets };
  const stopped = does(cloud, "one", { ids: [1], dies, agent: "B" });
  await assert.rejects(stopped, /nothing was moved: .* or B is fenced/);
  assert.equal((await cloud.rows()).machines[0], before);
});

test("what was claimed of a host whose lease somebody removed goes on, and nothing more is claimed", async (t) => {
  const cloud = await fencedCloud(t, 3);
  const { bm } = cloud;
  const death = (ids: readonly number[], point: string) =>
    assert.rejects(does(cloud, "one", { ids, dies: { point, at: 1 } }), /legacy\./);
  await death([1], "legacy.guarded");
  await death([2], "legacy.claimed");
  await bm("bm_service_leases").delete();
  const refused = await takes(cloud, "one", "A", "B", { ids: [3] }).catch((error) => error);
  assert.ok(refused instanceof MigrationError);
  assert.match(`${refused.code} ${refused.message}`, /N2I-E316 nova_bm no longer has a lease of A/);
  assert.match(refused.fix ?? "", /host takeover --nova-bm-db NOVA_BM --from A/);
  const done = await takes(cloud, "one", "A", "B", { ids: [] });
  assert.deepEqual(done.skipped, []);
  const [one, two, three] = (await cloud.rows()).machines;
  assert.deepEqual([one, three], ["1 A 0 active - | A - 0", "3 A 0 active - | A - 0"]);
  assert.equal(two, "2 B 1 - - |");
});

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

test("a host that was let back stays so when the run begins another host's machine", () => {
  const at = "2026-01-01T00:00:00Z";
  const start = (id: number, from: string): readonly Entry[] => [
    {
      ...({ do: "start", part: LEGACY, id: moveOf(id).uuid, at, by: "x" } as const),
      observed: { move: { ...moveOf(id), from, tenant: null } },
    },
    { do: "end", part: LEGACY, id: moveOf(id).uuid, at },
  ];
  const lifted: readonly Entry[] = [
    { do: "start", part: "host-lease", id: "A", at, by: "x" },
    { do: "end", part: "host-lease", id: "A", at },
  ];
  const back = [...start(1, "A"), ...lifted];
  assert.equal(hasLifted("A", back), true);
  assert.equal(hasLifted("A", [...back, ...start(2, "C")]), true);
  const again = [...back, ...start(2, "A")];
  assert.equal(hasLifted("A", again), false);
  const given: Entry = { do: "returned", part: LEGACY, id: moveOf(2).uuid, at };
  assert.equal(hasLifted("A", [...again, given]), true);
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
    assert.deepEqual(movedMachines(entries), []);
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
    const read: typeof opened.read = async (moves) => {
      const { service_host } = await cloud.bm("bm_nodes").where({ id: 2 }).first();
      const lives = { deleted: 0, deleted_at: null };
      if (service_host === "B") await nova("compute_nodes").where({ id: 500 }).update(lives);
      return opened.read(moves);
    };
    const place = { ...opened, read };
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
