import assert from "node:assert/strict";
import { test } from "node:test";
import { MigrationError } from "../../src/lib/error.ts";
import type { Entry } from "../../src/model/journal.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { hasLifted } from "../../src/takeover/baremetal/legacy-fence.ts";
import { takeMachines } from "../../src/takeover/baremetal/legacy-take.ts";
import { LEGACY, movedMachines } from "../../src/takeover/baremetal/steps/legacy-started.ts";
import { ends, runs } from "../hostile/cli.ts";
import { commands, expected, page } from "../support/manual.ts";
import { deadCloud, QUICK } from "./cloud.ts";
import { fencedCloud, LEASE, moveOf } from "./legacy-cloud.ts";
import { dies, does, NOTHING, takes } from "./legacy-does.ts";
import { images } from "./legacy-trees.ts";

const NONE = { moved: 0, skipped: [], stopped: false };

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
