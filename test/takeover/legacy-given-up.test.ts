import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MigrationError } from "../../src/lib/error.ts";
import type { Entry } from "../../src/model/journal.ts";
import { hasLifted } from "../../src/takeover/baremetal/legacy-fence.ts";
import { withLegacy } from "../../src/takeover/baremetal/legacy-moves.ts";
import { LEGACY } from "../../src/takeover/baremetal/steps/legacy-started.ts";
import { ends } from "../hostile/cli.ts";
import { fencedCloud, LEASE, legacyCloud, moveOf } from "./legacy-cloud.ts";
import { does, takes } from "./legacy-does.ts";

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
